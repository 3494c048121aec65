import type { PartitionMetrics, QueueStats, ShardMetrics, SubscriberMetrics } from '@shardlab/contract';
import {
  formatAgo,
  formatBytes,
  formatCount,
  formatMs,
  formatRate,
  formatValue,
} from '../../model/format.ts';
import { formatDrain, formatHitRatio, formatPartitions } from '../../model/queue-metrics-text.ts';
import { type MetricColumn, MetricTable } from './metric-table.tsx';

type RowOfInstance<Row> = Row & { instance: number; asOfMs: number };

/** Rows of a table at most. */
const rowsMax = 200;

const instanceColumn: MetricColumn<{ instance: number }> = {
  name: 'Instance',
  cell: ({ instance }) => instance,
};

const shardColumns: readonly MetricColumn<RowOfInstance<ShardMetrics>>[] = [
  { name: 'Shard', cell: ({ shard }) => shard },
  { name: 'Depth', cell: ({ depth }) => formatCount(depth) },
  { name: 'Ready', cell: ({ ready }) => formatCount(ready) },
  { name: 'Held', cell: ({ held }) => formatCount(held) },
  { name: 'In', cell: ({ enqueuePerSec }) => formatRate(enqueuePerSec) },
  { name: 'Out', cell: ({ dequeuePerSec }) => formatRate(dequeuePerSec) },
  { name: 'Empty in', cell: formatDrain },
  { name: 'Partitions', cell: ({ partitions }) => formatPartitions(partitions), isText: true },
];

const cacheColumns: readonly MetricColumn<RowOfInstance<ShardMetrics>>[] = [
  { name: 'Shard', cell: ({ shard }) => shard },
  { name: 'In the cache', cell: ({ cache }) => formatBytes(cache.bytes) },
  { name: 'Hits', cell: ({ cache }) => formatCount(cache.hits) },
  { name: 'Misses', cell: ({ cache }) => formatCount(cache.misses) },
  { name: 'Evictions', cell: ({ cache }) => formatCount(cache.evictions) },
  { name: 'Hit ratio', cell: ({ cache }) => formatHitRatio(cache) },
];

const subscriberColumns: readonly MetricColumn<RowOfInstance<SubscriberMetrics>>[] = [
  { name: 'Subscriber', cell: ({ subscriber }) => subscriber ?? 'all consumers', isText: true },
  { name: 'Shard', cell: ({ shard }) => shard },
  { name: 'Depth', cell: ({ depth }) => formatCount(depth) },
  { name: 'Held', cell: ({ held }) => formatCount(held) },
  { name: 'Dequeued', cell: ({ dequeued }) => formatCount(dequeued) },
  { name: 'Out', cell: ({ dequeuePerSec }) => formatRate(dequeuePerSec) },
  { name: 'Empty in', cell: formatDrain },
  { name: 'Next position', cell: ({ position }) => formatCount(position) },
  {
    name: 'Last dequeue',
    cell: ({ lastDequeueAtMs, asOfMs }) =>
      lastDequeueAtMs === null ? '–' : formatAgo(lastDequeueAtMs, asOfMs),
  },
  {
    name: 'Oldest',
    cell: ({ oldestReadyAtMs, asOfMs }) =>
      oldestReadyAtMs === null ? '–' : formatMs(Math.max(1, asOfMs - oldestReadyAtMs)),
  },
];

const partitionColumns: readonly MetricColumn<RowOfInstance<PartitionMetrics>>[] = [
  { name: 'Partition', cell: ({ partition }) => partition },
  { name: 'Shard', cell: ({ shard }) => shard },
  { name: 'State', cell: ({ state }) => state, isText: true },
  { name: 'Messages', cell: ({ messages }) => formatCount(messages) },
  { name: 'Live', cell: ({ messages, terminal }) => formatCount(messages - terminal) },
  { name: 'Size', cell: ({ bytes }) => formatBytes(bytes) },
  { name: 'Filled', cell: ({ fill }) => `${formatValue(fill * 100)} %` },
];

/** The metrics of a queue by shard, subscriber and partition, and those of its message cache. */
export function MonitorTables({ stats }: { stats: QueueStats }) {
  const { instances } = stats;
  const rowsOf = <Row,>(
    read: (stats: QueueStats['instances'][number]) => readonly Row[],
  ): RowOfInstance<Row>[] =>
    instances.flatMap((instanceStats) => {
      const { instance, asOfMs } = instanceStats;
      return read(instanceStats).map((row) => ({ ...row, instance, asOfMs }));
    });
  const withInstance = <Row extends { instance: number }>(columns: readonly MetricColumn<Row>[]) =>
    instances.length > 1 ? [columns[0]!, instanceColumn, ...columns.slice(1)] : columns;
  const shards = rowsOf(({ shards }) => shards);
  const subscribers = rowsOf(({ subscribers }) => subscribers).sort(
    (a, b) => (a.subscriber ?? '').localeCompare(b.subscriber ?? '') || a.shard - b.shard,
  );
  const partitions = rowsOf(({ partitions }) => partitions);
  const keyOf = ({ instance, shard }: RowOfInstance<{ shard: number }>) => `${instance}/${shard}`;
  return (
    <>
      <MetricTable title="Shards" columns={withInstance(shardColumns)} rows={shards} keyOf={keyOf} />
      <MetricTable
        title="Consumers by shard"
        columns={withInstance(subscriberColumns)}
        rows={subscribers.slice(0, rowsMax)}
        keyOf={(row) => `${keyOf(row)}/${row.subscriber}`}
        note={truncationNote(subscribers.length)}
      />
      <MetricTable
        title="Partitions"
        columns={withInstance(partitionColumns)}
        rows={partitions.slice(0, rowsMax)}
        keyOf={({ instance, partition }) => `${instance}/${partition}`}
        note={truncationNote(partitions.length)}
      />
      <MetricTable
        title="Message cache"
        columns={withInstance(cacheColumns)}
        rows={shards}
        keyOf={keyOf}
        note="First deliveries since the instance was opened. A hit was in the cache since its commit; a miss was read from its partition. An eviction is a message that found no space in the cache when it was committed."
      />
    </>
  );
}

function truncationNote(count: number): string | undefined {
  return count > rowsMax
    ? `The first ${rowsMax} of ${formatCount(count)}. The API returns all of them.`
    : undefined;
}
