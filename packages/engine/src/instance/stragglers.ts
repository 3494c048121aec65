/**
 * Finds partitions that are kept for a few messages only, and moves these aside. It is decided when a shard goes on to a
 * new partition: then what is still live in an old one has been handed out long ago, and is held or came back.
 */
import { type SeqRange, toRanges } from '../core/consumption.ts';
import { limits } from '../core/limits.ts';
import type { Partition } from '../core/partition-life.ts';
import type { SideChange } from '../storage/side-change.ts';
import type { StragglerRow } from '../storage/straggler-table.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Shard } from './shard.ts';
import type { ShardReader } from './shard-reader.ts';
import type { StagedTransaction } from './staged-transaction.ts';

export class Stragglers {
  readonly #group: GroupCommit;
  readonly #moving = new Set<Shard>();

  constructor(group: GroupCommit) {
    this.#group = group;
  }

  /** Moves the survivors of the shard's oldest partition if they are few. */
  consider(shard: Shard): void {
    const [oldest] = shard.partitions.all;
    // The last partition is filling, and the one before it was a moment ago.
    if (oldest === undefined || shard.partitions.all.length < 3 || this.#moving.has(shard)) return;
    if (!shard.persistent || survivorsOf(shard, oldest) === undefined) return;
    this.#moving.add(shard);
    const moved = new Map<ShardReader, SeqRange[]>();
    const transaction: StagedTransaction = {
      runs: [],
      deliveries: [],
      bytes: 0,
      sync: 'FULL',
      terminal: moved,
      alone: true,
      side: () => move(shard, oldest, moved),
      applied: () => {
        for (const [reader, ranges] of moved) reader.setAside(ranges);
      },
    };
    this.#group.submit(transaction).then(
      () => {
        this.#moving.delete(shard);
        this.#group.truncateDrained(shard);
        this.#group.schedule();
        if (moved.size > 0) this.consider(shard);
      },
      () => this.#moving.delete(shard), // considered again with the next partition
    );
  }
}

/** By reader; undefined if they are too many, or some were never handed out. */
function survivorsOf(shard: Shard, partition: Partition): Map<ShardReader, number[]> | undefined {
  if (partition.truncating || shard.dropped) return undefined;
  const end = shard.partitions.rangeEnd(partition);
  const bytesEach = partition.bytes / Math.max(1, partition.endSeq - partition.firstSeq);
  const survivors = new Map<ShardReader, number[]>();
  let count = 0;
  for (const reader of shard.readers) {
    if (!reader.hasPassed(end)) return undefined;
    const room = limits.stragglersPerPartitionMax - count;
    const seqs = reader.consumption.liveBetween(partition.firstSeq, end, room);
    if (seqs === undefined || !reader.hasRoomAside(seqs.length)) return undefined;
    count += seqs.length;
    if (seqs.length > 0) survivors.set(reader, seqs);
  }
  return count > 0 && count * bytesEach <= limits.stragglerBytesMax ? survivors : undefined;
}

/** Looks again, since the group closes later than it was decided. */
function move(shard: Shard, partition: Partition, moved: Map<ShardReader, SeqRange[]>): SideChange[] {
  const rows: Omit<StragglerRow, 'record'>[] = [];
  for (const [reader, seqs] of survivorsOf(shard, partition) ?? []) {
    moved.set(reader, toRanges([...seqs]));
    if (!reader.durable) continue; // memory alone knows of it, and goes on knowing
    for (const seq of seqs) {
      const { deliveryCount } = reader.statusOf(seq);
      const { queueId, no } = shard;
      rows.push({ queueId, shard: no, subscriber: reader.subscriber, seq, attempts: deliveryCount });
    }
  }
  return rows.length === 0 ? [] : [{ kind: 'set aside', partition: partition.no, rows }];
}
