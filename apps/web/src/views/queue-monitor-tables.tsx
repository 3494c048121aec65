import type { PartitionFigures, QueueStats, ShardFigures, SubscriberFigures } from '@shardlab/contract';
import { formatAgo, formatBytes, formatCount, formatMs, formatRate, formatValue } from '../model/format.ts';
import { drainWords, hitWords, partitionWords } from '../model/queue-words.ts';
import { type FigureColumn, FigureTable } from './figure-table.tsx';

type At<Row> = Row & { instance: number; asOfMs: number };

const shown = 200;

const instanceColumn: FigureColumn<{ instance: number }> = {
  name: 'Instance',
  cell: ({ instance }) => instance,
};

const shardColumns: readonly FigureColumn<At<ShardFigures>>[] = [
  { name: 'Shard', cell: ({ shard }) => shard },
  { name: 'Depth', cell: ({ depth }) => formatCount(depth) },
  { name: 'Ready', cell: ({ ready }) => formatCount(ready) },
  { name: 'Held', cell: ({ held }) => formatCount(held) },
  { name: 'In', cell: ({ enqueuePerSec }) => formatRate(enqueuePerSec) },
  { name: 'Out', cell: ({ dequeuePerSec }) => formatRate(dequeuePerSec) },
  { name: 'Empty in', cell: drainWords },
  { name: 'Partitions', cell: ({ partitions }) => partitionWords(partitions), isText: true },
];

const cacheColumns: readonly FigureColumn<At<ShardFigures>>[] = [
  { name: 'Shard', cell: ({ shard }) => shard },
  { name: 'In the cache', cell: ({ cache }) => formatBytes(cache.bytes) },
  { name: 'Hits', cell: ({ cache }) => formatCount(cache.hits) },
  { name: 'Read back', cell: ({ cache }) => formatCount(cache.misses) },
  { name: 'Without a place', cell: ({ cache }) => formatCount(cache.evictions) },
  { name: 'Hit ratio', cell: ({ cache }) => hitWords(cache) },
];

const subscriberColumns: readonly FigureColumn<At<SubscriberFigures>>[] = [
  { name: 'Subscriber', cell: ({ subscriber }) => subscriber ?? 'the consumers', isText: true },
  { name: 'Shard', cell: ({ shard }) => shard },
  { name: 'Depth', cell: ({ depth }) => formatCount(depth) },
  { name: 'Held', cell: ({ held }) => formatCount(held) },
  { name: 'Dequeued', cell: ({ dequeued }) => formatCount(dequeued) },
  { name: 'Out', cell: ({ dequeuePerSec }) => formatRate(dequeuePerSec) },
  { name: 'Empty in', cell: drainWords },
  { name: 'Next message', cell: ({ position }) => formatCount(position) },
  {
    name: 'Last dequeue',
    cell: ({ lastDequeueAtMs, asOfMs }) =>
      lastDequeueAtMs === null ? '–' : formatAgo(lastDequeueAtMs, asOfMs),
  },
  {
    name: 'Oldest waits',
    cell: ({ oldestReadyAtMs, asOfMs }) =>
      oldestReadyAtMs === null ? '–' : formatMs(Math.max(1, asOfMs - oldestReadyAtMs)),
  },
];

const partitionColumns: readonly FigureColumn<At<PartitionFigures>>[] = [
  { name: 'Partition', cell: ({ partition }) => partition },
  { name: 'Shard', cell: ({ shard }) => shard },
  { name: 'State', cell: ({ state }) => state, isText: true },
  { name: 'Messages', cell: ({ messages }) => formatCount(messages) },
  { name: 'Live', cell: ({ messages, terminal }) => formatCount(messages - terminal) },
  { name: 'Size', cell: ({ bytes }) => formatBytes(bytes) },
  { name: 'Full', cell: ({ fill }) => `${formatValue(fill * 100)} %` },
];

/** By shard, subscriber and partition, and what the message cache was good for. */
export function QueueMonitorTables({ stats }: { stats: QueueStats }) {
  const { instances } = stats;
  const rowsOf = <Row,>(read: (of: QueueStats['instances'][number]) => readonly Row[]): At<Row>[] =>
    instances.flatMap((of) => read(of).map((row) => ({ ...row, instance: of.instance, asOfMs: of.asOfMs })));
  const withInstance = <Row extends { instance: number }>(columns: readonly FigureColumn<Row>[]) =>
    instances.length > 1 ? [columns[0]!, instanceColumn, ...columns.slice(1)] : columns;
  const shards = rowsOf(({ shards }) => shards);
  const subscribers = rowsOf(({ subscribers }) => subscribers).sort(
    (a, b) => (a.subscriber ?? '').localeCompare(b.subscriber ?? '') || a.shard - b.shard,
  );
  const partitions = rowsOf(({ partitions }) => partitions);
  const keyOf = ({ instance, shard }: At<{ shard: number }>) => `${instance}/${shard}`;
  return (
    <>
      <FigureTable title="Shards" columns={withInstance(shardColumns)} rows={shards} keyOf={keyOf} />
      <FigureTable
        title="Consumers by shard"
        columns={withInstance(subscriberColumns)}
        rows={subscribers.slice(0, shown)}
        keyOf={(row) => `${keyOf(row)}/${row.subscriber}`}
        note={moreOf(subscribers.length)}
      />
      <FigureTable
        title="Partitions"
        columns={withInstance(partitionColumns)}
        rows={partitions.slice(0, shown)}
        keyOf={({ instance, partition }) => `${instance}/${partition}`}
        note={moreOf(partitions.length)}
      />
      <FigureTable
        title="Message cache"
        columns={withInstance(cacheColumns)}
        rows={shards}
        keyOf={keyOf}
        note="Of first hand-outs since the instance opened. A hit stayed in the cache since its commit; without a place, a message is read back from its partition when its turn comes."
      />
    </>
  );
}

function moreOf(count: number): string | undefined {
  return count > shown ? `The first ${shown} of ${formatCount(count)}; the API has more.` : undefined;
}
