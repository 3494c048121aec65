/** Builds the sample rows of queues, shards, subscribers and partitions from their current state in memory. */

import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { priorityOfLog } from '../model/log-id.ts';
import type { Partition } from '../model/partitions.ts';
import type { PartitionSample, QueueSample, ShardSample, SubscriberSample } from '../model/sample.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';
import type { ClockReading, RateTracker } from './rate-tracker.ts';

export function queueSample({ row }: ShardedQueue): QueueSample {
  const { queueId, name, type, durability } = row;
  return { queueId, name, type, durability };
}

export function shardSample(log: MessageLog, rates: RateTracker, now: ClockReading): ShardSample {
  const { queueId, id, enqueued, backlog, held, paused, cacheBytes } = log;
  const counts = { enqueued, backlog, held, paused, cacheBytes };
  return { queueId, shard: id, priority: priorityOfLog(id), ...counts, ...rates.flow(log, now) };
}

export function subscriberSample(
  cursor: SubscriberCursor,
  rates: RateTracker,
  now: ClockReading,
): SubscriberSample {
  const { log, subscriber, name = null, durable, firstSeq, position, consumption } = cursor;
  const { backlog, held, paused, dequeued, cacheHits, cacheMisses, cacheEvictions } = cursor;
  return {
    queueId: log.queueId,
    shard: log.id,
    subscriber,
    name,
    durable: Number(durable),
    firstSeq,
    watermark: consumption.watermark,
    position,
    backlog,
    held,
    paused,
    dequeued,
    lastDequeueMs: rates.lastDequeueAtMs(cursor, now),
    oldestReadyMs: cursor.oldestReadyAtMs ?? null,
    cacheHits,
    cacheMisses,
    cacheEvictions,
    ...rates.flow(cursor, now),
  };
}

/** `messages` counts durable messages only; `bytes` includes the bytes of groups in flight. */
export function partitionSample(log: MessageLog, partition: Partition): PartitionSample {
  const { id, firstSeq, bytes } = partition;
  const endSeq = Math.max(firstSeq, Math.min(partition.endSeq, log.committedEndSeq));
  return {
    partition: id,
    queueId: log.queueId,
    shard: log.id,
    firstSeq,
    state: log.partitions.stateOf(partition),
    messages: endSeq - firstSeq,
    terminal: log.terminalCountBetween(firstSeq, endSeq),
    bytes,
    fill: log.partitions.fillOf(partition),
  };
}
