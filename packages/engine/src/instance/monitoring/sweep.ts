/** Goes over all that an instance has in memory at one moment, and tells what changed since it was last written down. */
import type { PartitionSample, SampleRows, SampleTable } from '../../storage/sample-table.ts';
import type { Shard } from '../shard.ts';
import type { ShardReader } from '../shard-reader.ts';
import type { ShardedQueue } from '../sharded-queue.ts';
import {
  type Moment,
  partitionSample,
  queueSample,
  type Rates,
  shardSample,
  subscriberSample,
} from './figures.ts';

type Row = SampleRows[SampleTable];

/** A row, what it is of, and whether that is still there: what is dropped meanwhile must not come back. */
export interface ChangedRow {
  table: SampleTable;
  row: Row;
  of: object;
  isThere(): boolean;
}

/** Grow by themselves as long as nothing happens. */
const notAChange = new Set(['windowMs']);

export class Sweep {
  readonly #rates: Rates;
  readonly #written = new WeakMap<object, Row>();
  /** By shard: what was committed at the sweep before. */
  readonly #committedEnds = new WeakMap<Shard, number>();

  constructor(rates: Rates) {
    this.#rates = rates;
  }

  /** The rows that changed count as written from now on; `forget` those that then are not. */
  changed(queues: Iterable<ShardedQueue>, now: Moment): ChangedRow[] {
    const rows: ChangedRow[] = [];
    for (const queue of queues) {
      const isThere = () => queue.shards.some((shard) => !shard.dropped);
      this.#add(rows, { table: 'queue', row: queueSample(queue), of: queue, isThere });
      for (const shard of queue.shards) {
        const row = shardSample(shard, this.#rates, now);
        this.#add(rows, { table: 'shard', row, of: shard, isThere: () => !shard.dropped });
        for (const reader of shard.readers) this.#addReader(rows, reader, now);
        this.#addPartitions(rows, shard);
      }
    }
    return rows;
  }

  forget(rows: readonly ChangedRow[]): void {
    for (const { of } of rows) this.#written.delete(of);
  }

  #addReader(rows: ChangedRow[], reader: ShardReader, now: Moment): void {
    const row = subscriberSample(reader, this.#rates, now);
    const isThere = () => !reader.removed && !reader.shard.dropped;
    this.#add(rows, { table: 'subscriber', row, of: reader, isThere });
  }

  /**
   * Only those that can have changed are looked at, for there may be a hundred thousand: those that someone was handed
   * messages from, and those that were written to since the sweep before.
   */
  #addPartitions(rows: ChangedRow[], shard: Shard): void {
    const writtenFrom = this.#committedEnds.get(shard) ?? 0;
    this.#committedEnds.set(shard, shard.committedEnd);
    let handedOut = 0;
    for (const { position } of shard.readers) handedOut = Math.max(handedOut, position);
    for (const partition of shard.partitions.all) {
      const isTouched = partition.firstSeq < handedOut || partition.endSeq >= writtenFrom;
      if (partition.truncating || !(isTouched || partition.damaged)) continue;
      const row: PartitionSample = partitionSample(shard, partition);
      const isThere = () => !partition.truncating && !shard.dropped;
      this.#add(rows, { table: 'partition', row, of: partition, isThere });
    }
  }

  #add(rows: ChangedRow[], changed: ChangedRow): void {
    const before = this.#written.get(changed.of);
    if (before !== undefined && isSame(before, changed.row)) return;
    this.#written.set(changed.of, changed.row);
    rows.push(changed);
  }
}

function isSame(before: Row, now: Row): boolean {
  for (const [name, value] of Object.entries(now)) {
    if (value !== before[name as keyof Row] && !notAChange.has(name)) return false;
  }
  return true;
}
