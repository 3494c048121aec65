/** Rebuilds the shards of a queue from what its instance's file holds. */
import { decodeRanges, type SeqRange } from '../core/consumption.ts';
import type { AttemptRow } from '../storage/attempt-table.ts';
import type { RecoveredPartition } from '../storage/group-message.ts';
import type { StragglerRow } from '../storage/straggler-table.ts';
import type { SubscriberRow } from '../storage/subscriber-table.ts';
import type { SubscriptionRow } from '../storage/subscription-table.ts';
import type { Shard } from './shard.ts';
import type { SequenceRange, ShardedQueue } from './sharded-queue.ts';

/** The numbers of each shard among these partitions, which are in order. */
export function rangesOf(partitions: readonly RecoveredPartition[]): Map<number, SequenceRange> {
  const byShard = Map.groupBy(partitions, ({ shard }) => shard);
  return new Map(
    [...byShard].map(([no, own]) => [no, { firstSeq: own[0]!.firstSeq, endSeq: endOf(own) }] as const),
  );
}

/** Where the numbers of a shard end: gaps at its end are terminal numbers too, and must not be given again. */
function endOf(partitions: readonly RecoveredPartition[]): number {
  let end = partitions.at(-1)!.endSeq;
  for (const { firstSeq, terminal } of partitions) {
    for (const { ranges } of terminal) end = Math.max(end, decodeRanges(ranges, firstSeq).at(-1)?.[1] ?? end);
  }
  return end;
}

export interface RecoveredQueue {
  /** Made with `rangesOf` the same partitions. */
  queue: ShardedQueue;
  /** Those of the catalog. */
  subscribers: readonly SubscriberRow[];
  partitions: readonly RecoveredPartition[];
  /** Those of the file, of other queues too. */
  subscriptions: readonly SubscriptionRow[];
  /** Those of this queue. */
  stragglers: readonly StragglerRow[];
}

/** Subscribers that were made while the instance was away are left out: they begin when it serves. */
export function recoverQueue({
  queue,
  subscribers,
  partitions,
  subscriptions,
  stragglers,
}: RecoveredQueue): void {
  for (const subscriber of subscribers) {
    const own = subscriptions.filter((subscription) => subscription.subscriber === subscriber.id);
    if (own.length === 0) continue;
    const firstSeqs = new Map(own.map(({ shard, firstSeq }) => [shard, firstSeq]));
    queue.addSubscription(subscriber, (shard) => firstSeqs.get(shard.no) ?? shard.nextSeq);
  }
  const byShard = Map.groupBy(partitions, ({ shard }) => shard);
  for (const shard of queue.shards) {
    recoverShard(shard, byShard.get(shard.no) ?? []);
    for (const reader of shard.readers) {
      reader.recoverStragglers(
        stragglers.filter((row) => row.shard === shard.no && row.subscriber === reader.subscriber),
      );
    }
  }
}

function recoverShard(shard: Shard, partitions: readonly RecoveredPartition[]): void {
  const terminal = new Map<number, SeqRange[]>();
  const attempts: AttemptRow[] = [];
  let messages = 0;
  for (const { partition, firstSeq, endSeq, bytes, terminal: rows, ...own } of partitions) {
    messages += own.messages;
    attempts.push(...own.attempts);
    const assigned = shard.partitions.assign(partition, firstSeq);
    if (endSeq > firstSeq) shard.partitions.append(endSeq, bytes);
    assigned.damaged = own.damage !== null;
    for (const { subscriber, ranges } of rows) {
      const known = terminal.get(subscriber);
      const more = decodeRanges(ranges, firstSeq);
      if (known === undefined) terminal.set(subscriber, more);
      else known.push(...more);
    }
  }
  const forAll = terminal.get(0) ?? [];
  for (const reader of shard.readers) {
    const own = reader.subscriber === 0 ? [] : (terminal.get(reader.subscriber) ?? []);
    reader.recover(
      [...forAll, ...own],
      attempts.filter(({ subscriber }) => subscriber === reader.subscriber),
    );
  }
  shard.gaps = shard.committedEnd - shard.firstSeq - messages;
}
