/**
 * The topology at one moment as a table: a row for each partition, and for each shard or instance without partitions.
 */
import type { Tick } from '@shardlab/contract';
import type { DataTable } from './data-table.ts';

type Row = DataTable['rows'][number];

export function topologyTable(tick: Tick): DataTable {
  const columns = [
    'Instance',
    'Enqueue per second',
    'Dequeue per second',
    'Cores busy',
    'Shard',
    'Backlog',
    'Partition',
    'State',
    'Filled %',
    'Consumed %',
  ];
  const rows = tick.instances.flatMap(({ instance, enqueuePerSec, dequeuePerSec, cpu, shards }): Row[] => {
    const start = [instance, enqueuePerSec, dequeuePerSec, cpu];
    if (shards.length === 0) return [[...start, null, null, null, null, null, null]];
    return shards.flatMap(({ shard, backlog, partitions }): Row[] => {
      if (partitions.length === 0) return [[...start, shard, backlog, null, null, null, null]];
      return partitions.map(({ partition, state, fill, drained }) => [
        ...start,
        shard,
        backlog,
        partition,
        state,
        fill * 100,
        drained * 100,
      ]);
    });
  });
  return { columns, rows };
}
