/** Rebuilds the logs of a queue from the rows of its instance's file. */

import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { decodeRanges, type SeqRange } from '../model/consumption.ts';
import type { AttemptRow } from '../model/delivery-attempt.ts';
import type { DeliveryMark } from '../model/delivery-mark.ts';
import type { EvacuatedRow } from '../model/evacuated-message.ts';
import type { LogId, Seq, SubscriberId } from '../model/ids.ts';
import type { RecoveredPartition } from '../model/recovered-instance.ts';
import type { SubscriberRow, SubscriptionRow } from '../model/subscriber-row.ts';
import type { LogBounds } from './queue-logs.ts';
import type { ShardedQueue } from './sharded-queues.ts';

/** The bounds of each log among these partitions, which are ordered by log and sequence. */
export function logBoundsOf(partitions: readonly RecoveredPartition[]): Map<LogId, LogBounds> {
  const byShard = Map.groupBy(partitions, ({ shard }) => shard);
  return new Map(
    [...byShard].map(
      ([logId, ofLog]) => [logId, { firstSeq: ofLog[0]!.firstSeq, endSeq: endSeqOf(ofLog) }] as const,
    ),
  );
}

/** The end of a log's sequence numbers. It includes gaps at the end: their numbers must not be used again. */
function endSeqOf(partitions: readonly RecoveredPartition[]): Seq {
  let end = partitions.at(-1)!.endSeq;
  for (const { firstSeq, terminalDeltas } of partitions) {
    for (const { ranges } of terminalDeltas)
      end = Math.max(end, decodeRanges(ranges, firstSeq).at(-1)?.[1] ?? end);
  }
  return end;
}

export interface RecoverQueueInput {
  /** Created with the bounds (`logBoundsOf`) of the same partitions. */
  queue: ShardedQueue;
  /** Subscribers in the catalog. */
  subscribers: readonly SubscriberRow[];
  partitions: readonly RecoveredPartition[];
  /** Subscriptions of all queues in the file. */
  subscriptions: readonly SubscriptionRow[];
  /** Evacuated messages of this queue only. */
  evacuated: readonly EvacuatedRow[];
  /** Delivery marks of all queues in the file; null after a crash. */
  deliveryMarks: readonly DeliveryMark[] | null;
}

/** Subscribers that were added while the instance was closed are left out: their messages begin when it serves. */
export function recoverQueue({
  queue,
  subscribers,
  partitions,
  subscriptions,
  evacuated,
  deliveryMarks,
}: RecoverQueueInput): void {
  for (const subscriber of subscribers) {
    const ofSubscriber = subscriptions.filter((subscription) => subscription.subscriber === subscriber.id);
    if (ofSubscriber.length === 0) continue;
    const firstSeqs = new Map(ofSubscriber.map(({ shard, firstSeq }) => [shard, firstSeq]));
    queue.addSubscription(subscriber, (log) => firstSeqs.get(log.id) ?? log.nextSeq);
  }
  const partitionsByLog = Map.groupBy(partitions, ({ shard }) => shard);
  for (const log of queue.logs) {
    recoverLog(log, partitionsByLog.get(log.id) ?? []);
    for (const cursor of log.cursors) {
      // Elsewhere the file has counted every delivery.
      if (!queue.countsDeliveries) cursor.recoverDelivered(deliveredEndSeqOf(cursor, deliveryMarks));
      cursor.recoverEvacuated(
        evacuated.filter(({ shard, subscriber }) => shard === log.id && subscriber === cursor.subscriber),
      );
    }
  }
}

/** A crash leaves unknown how far the messages were delivered, so it counts as all of them. */
function deliveredEndSeqOf(
  { log, subscriber }: SubscriberCursor,
  marks: readonly DeliveryMark[] | null,
): number {
  if (marks === null) return log.committedEndSeq;
  const mark = marks.find(
    (row) => row.queueId === log.queueId && row.shard === log.id && row.subscriber === subscriber,
  );
  return mark?.endSeq ?? 0;
}

/** How far the messages of these queues were delivered, to be stored when the instance closes. */
export function deliveryMarksOf(queues: Iterable<ShardedQueue>): DeliveryMark[] {
  const marks: DeliveryMark[] = [];
  for (const { row, logs, countsDeliveries } of queues) {
    if (countsDeliveries || row.durability === 'memory') continue;
    for (const { queueId, id: shard, cursors } of logs) {
      for (const { durable, subscriber, consumption, deliveredEndSeq: endSeq, evacuated } of cursors) {
        const hasDelivered = consumption.watermark < endSeq || evacuated.size > 0;
        if (durable && hasDelivered) marks.push({ queueId, shard, subscriber, endSeq });
      }
    }
  }
  return marks;
}

function recoverLog(log: MessageLog, partitions: readonly RecoveredPartition[]): void {
  const terminalBySubscriber = new Map<SubscriberId, SeqRange[]>();
  const attempts: AttemptRow[] = [];
  let messages = 0;
  for (const recovered of partitions) {
    const { firstSeq, endSeq, bytes } = recovered;
    messages += recovered.messages;
    attempts.push(...recovered.attempts);
    const partition = log.partitions.assign(recovered.partition, firstSeq);
    if (endSeq > firstSeq) log.partitions.append(endSeq, bytes);
    if (recovered.damageReason !== null) partition.apply('damage');
    for (const { subscriber, ranges } of recovered.terminalDeltas) {
      const known = terminalBySubscriber.get(subscriber);
      const decoded = decodeRanges(ranges, firstSeq);
      if (known === undefined) terminalBySubscriber.set(subscriber, decoded);
      else known.push(...decoded);
    }
  }
  const forAll = terminalBySubscriber.get(0) ?? [];
  for (const cursor of log.cursors) {
    const forCursor = cursor.subscriber === 0 ? [] : (terminalBySubscriber.get(cursor.subscriber) ?? []);
    cursor.recover(
      [...forAll, ...forCursor],
      attempts.filter(({ subscriber }) => subscriber === cursor.subscriber),
    );
  }
  log.gapCount = log.committedEndSeq - log.firstSeq - messages;
}
