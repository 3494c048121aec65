/** Determines where a message is for one subscriber, and why it waits there, when this is requested. */

import type { MessageWhereabouts } from '../api/message-trace.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { Seq } from '../model/ids.ts';
import type { BacklogReader } from '../queues/backlog-reader.ts';
import type { Subscription } from '../queues/sharded-queues.ts';

type Held = Extract<MessageWhereabouts, { state: 'held' }>;

export interface WhereaboutsSources {
  /** Consumers may dequeue from the queue. */
  dequeueEnabled: boolean;
  subscription: Subscription;
  backlogReader: Pick<BacklogReader, 'damageAhead'>;
  holderOf(cursor: SubscriberCursor, seq: Seq): Omit<Held, 'state'>;
}

/** Whereabouts of the message with number `seq` in the log of a cursor. O(unsettled deliveries). */
export function whereaboutsOf(
  cursor: SubscriberCursor,
  seq: Seq,
  sources: WhereaboutsSources,
): MessageWhereabouts {
  switch (cursor.stateOf(seq)) {
    case 'uncommitted':
      return seq < cursor.log.nextSeq ? { state: 'uncommitted' } : { state: 'unknown' };
    case 'ready':
    case 'returned':
      return { state: 'ready', ...readiness(cursor, seq, sources) };
    case 'held':
      return { state: 'held', ...sources.holderOf(cursor, seq) };
    case 'paused':
      return { state: 'delayed', reason: 'retry-delay', untilMs: cursor.statusOf(seq).untilMs! };
    case 'terminal':
      return { state: 'consumed', ...partitionFate(cursor.log, seq) };
  }
}

type Readiness = Omit<Extract<MessageWhereabouts, { state: 'ready' }>, 'state'>;

/** The first reason why it is not delivered now. */
function readiness(
  cursor: SubscriberCursor,
  seq: Seq,
  { dequeueEnabled, subscription, backlogReader }: WhereaboutsSources,
): Readiness {
  const ahead = subscription.readyInMoreUrgentLanes(cursor) + readyBefore(cursor, seq);
  if (!dequeueEnabled) return { reason: 'dequeue-stopped', ahead };
  if (backlogReader.damageAhead(cursor) !== undefined) return { reason: 'partition-damaged', ahead };
  if (cursor.deliveryGate?.canDeliver(cursor) === false) return { reason: 'elsewhere-first', ahead };
  if (ahead > 0) return { reason: 'behind-others', ahead };
  if (!subscription.hasWaiters) return { reason: 'no-consumer', ahead };
  return { reason: cursor.needsRead ? 'being-read' : 'next', ahead };
}

/** Messages that the cursor delivers before this one. */
function readyBefore({ position, deliveries, consumption }: SubscriberCursor, seq: Seq): number {
  const returned = deliveries.returnedBefore(seq);
  if (seq <= position) return returned;
  return returned + seq - position - consumption.terminalCountBetween(position, seq);
}

type PartitionFate = Omit<Extract<MessageWhereabouts, { state: 'consumed' }>, 'state'>;

/** The state of the partition that stored a terminal message. */
function partitionFate(log: MessageLog, seq: Seq): PartitionFate {
  if (!log.persistent) return { partition: 'none' };
  const partition = log.partitions.findPartition(seq);
  if (partition === undefined) return { partition: 'truncated' };
  if (partition.truncating) return { partition: 'truncating' };
  if (partition === log.partitions.all.at(-1)) return { partition: 'filling' };
  const { watermark } = log;
  if (watermark >= log.partitions.endSeqOf(partition)) return { partition: 'retained' };
  return { partition: 'waits', waitsFor: `${log.id}.${watermark}` };
}
