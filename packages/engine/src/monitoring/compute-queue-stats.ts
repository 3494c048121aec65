/** Computes the public statistics of one queue on one instance: the same figures as its samples, with rates computed. */

import type { PartitionStats } from '../api/instance-stats.ts';
import { limits } from '../api/limits.ts';
import type {
  CacheStats,
  PartitionMetrics,
  QueueStats,
  QueueTotals,
  ShardMetrics,
  SubscriberMetrics,
} from '../api/queue-stats.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import { flowStats } from '../model/flow-stats.ts';
import type { QueueCounts } from '../queues/queue-engine.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';
import { partitionSample, shardSample, subscriberSample } from './build-samples.ts';
import type { ClockReading, RateTracker } from './rate-tracker.ts';

/** `counts` are the queue's counts; `delayed` includes messages that are not due yet. */
export function computeQueueStats(
  { row, logs }: ShardedQueue,
  counts: QueueCounts,
  rates: RateTracker,
  now: ClockReading,
): Omit<QueueStats, 'instance' | 'deliveryLatency'> {
  const { name: queue, kind, type } = row;
  const shards = logs.map((log) => computeShardStats(log, type === 'topic', rates, now));
  const cursors = logs.flatMap((log) => [...log.cursors]);
  const deepestFirst = cursors.sort((a, b) => b.backlog - a.backlog).slice(0, limits.statsRowsMax);
  const partitionsMax = Math.ceil(limits.statsRowsMax / logs.length);
  return {
    queue,
    kind,
    type,
    asOfMs: now.epochMs,
    total: computeQueueTotals(counts, shards),
    shards,
    subscribers: deepestFirst.map((cursor) => computeSubscriberStats(cursor, rates, now)),
    partitions: logs.flatMap((log) => computePartitionStats(log, partitionsMax)),
  };
}

function computeShardStats(
  log: MessageLog,
  isTopic: boolean,
  rates: RateTracker,
  now: ClockReading,
): ShardMetrics {
  const {
    backlog: depth,
    held,
    paused,
    enqueued,
    priority,
    cacheBytes,
    ...flow
  } = shardSample(log, rates, now);
  // Some subscribers of a topic may hold a message that others wait for: it is ready as long as anyone waits.
  const ready = isTopic ? depth : depth - held - paused;
  const partitions: Record<PartitionStats['state'], number> = { filling: 0, full: 0, drained: 0, damaged: 0 };
  for (const partition of log.partitions.all) partitions[log.partitions.stateOf(partition)] += 1;
  return {
    shard: log.id,
    priority,
    ...flowStats({ depth, ready, held }, flow),
    paused,
    enqueued,
    consumed: enqueued - depth,
    cache: computeCacheStats(log, cacheBytes),
    partitions,
  };
}

function computeCacheStats(log: MessageLog, bytes: number): CacheStats {
  const cache = { bytes, hits: 0, misses: 0, evictions: 0 };
  for (const cursor of log.cursors) {
    cache.hits += cursor.cacheHits;
    cache.misses += cursor.cacheMisses;
    cache.evictions += cursor.cacheEvictions;
  }
  return cache;
}

function computeSubscriberStats(
  cursor: SubscriberCursor,
  rates: RateTracker,
  now: ClockReading,
): SubscriberMetrics {
  const sample = subscriberSample(cursor, rates, now);
  const { shard, name, durable, backlog: depth, held, paused, watermark, position, dequeued } = sample;
  return {
    shard,
    subscriber: name,
    durable: durable === 1,
    ...flowStats({ depth, ready: depth - held - paused, held }, sample),
    paused,
    watermark,
    position,
    dequeued,
    lastDequeueAtMs: sample.lastDequeueMs,
    oldestReadyAtMs: sample.oldestReadyMs,
    cache: { hits: sample.cacheHits, misses: sample.cacheMisses, evictions: sample.cacheEvictions },
  };
}

/** The oldest `partitionsMax` partitions. */
function computePartitionStats(log: MessageLog, partitionsMax: number): PartitionMetrics[] {
  return log.partitions.all.slice(0, partitionsMax).map((partition) => {
    const { queueId: _, ...metrics } = partitionSample(log, partition);
    return metrics as PartitionMetrics;
  });
}

/** Adds up the depths and rates of the shards. All other totals are `counts`. */
function computeQueueTotals(counts: QueueCounts, shards: readonly ShardMetrics[]): QueueTotals {
  const { ready, held, delayed, enqueued, consumed, forwardedIn, forwardedOut, refused, lost } = counts;
  const windowMs = Math.max(0, ...shards.map((shard) => shard.windowMs));
  const countWithin = (rate: 'enqueuePerSec' | 'dequeuePerSec') =>
    shards.reduce((sum, shard) => sum + (shard[rate] * windowMs) / 1000, 0);
  const depth = shards.reduce((sum, shard) => sum + shard.depth, 0);
  const flow = {
    windowMs,
    windowIn: countWithin('enqueuePerSec'),
    windowOut: countWithin('dequeuePerSec'),
  };
  return {
    ...flowStats({ depth, ready, held }, flow),
    delayed,
    enqueued,
    consumed,
    forwardedIn,
    forwardedOut,
    refused,
    lost,
  };
}
