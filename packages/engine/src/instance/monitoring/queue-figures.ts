/** The figures of one queue on one instance, as they are asked for: the samples' own, with rates in place of windows. */
import { limits } from '../../core/limits.ts';
import { estimateDrain, type Flow } from '../../core/rate-window.ts';
import type {
  CacheStats,
  FlowStats,
  PartitionFigures,
  QueueStats,
  QueueTotals,
  ShardFigures,
  SubscriberFigures,
} from '../../queue-stats.ts';
import type { PartitionStats } from '../../types.ts';
import type { QueueCounts } from '../queue-engine.ts';
import type { Shard } from '../shard.ts';
import type { ShardReader } from '../shard-reader.ts';
import type { ShardedQueue } from '../sharded-queue.ts';
import { type Moment, partitionSample, type Rates, shardSample, subscriberSample } from './figures.ts';

/** `counts`: what the queue itself counts, messages that are not due yet included. */
export function queueFigures(
  { row, shards }: ShardedQueue,
  counts: QueueCounts,
  rates: Rates,
  now: Moment,
): Omit<QueueStats, 'instance'> {
  const { name: queue, kind, type } = row;
  const figures = shards.map((shard) => shardFigures(shard, type === 'topic', rates, now));
  const readers = shards.flatMap((shard) => [...shard.readers]);
  const deepest = readers.sort((a, b) => b.backlog - a.backlog).slice(0, limits.statsRowsMax);
  const partitionsMax = Math.ceil(limits.statsRowsMax / shards.length);
  return {
    queue,
    kind,
    type,
    asOfMs: now.epochMs,
    total: queueTotals(counts, figures),
    shards: figures,
    subscribers: deepest.map((reader) => subscriberFigures(reader, rates, now)),
    partitions: shards.flatMap((shard) => partitionFigures(shard, partitionsMax)),
  };
}

type Counts = Pick<FlowStats, 'depth' | 'ready' | 'held'>;

export function flowStats({ depth, ready, held }: Counts, flow: Flow): FlowStats {
  const { state: drainState, ...estimate } = estimateDrain(depth, flow);
  return { depth, ready, held, windowMs: flow.windowMs, drainState, ...estimate };
}

/** `isTopic`: a message may be held by some and wait for others, so all are ready as long as anyone waits. */
function shardFigures(shard: Shard, isTopic: boolean, rates: Rates, now: Moment): ShardFigures {
  const {
    backlog: depth,
    held,
    paused,
    enqueued,
    priority,
    cacheBytes,
    ...flow
  } = shardSample(shard, rates, now);
  const ready = isTopic ? depth : depth - held - paused;
  const partitions = { filling: 0, full: 0, drained: 0, damaged: 0 } satisfies Record<
    PartitionStats['state'],
    number
  >;
  for (const partition of shard.partitions.all) partitions[shard.partitions.stateOf(partition)] += 1;
  return {
    shard: shard.no,
    priority,
    ...flowStats({ depth, ready, held }, flow),
    paused,
    enqueued,
    consumed: enqueued - depth,
    cache: cacheOf(shard, cacheBytes),
    partitions,
  };
}

function cacheOf(shard: Shard, bytes: number): CacheStats {
  const cache = { bytes, hits: 0, misses: 0, evictions: 0 };
  for (const reader of shard.readers) {
    cache.hits += reader.cacheHits;
    cache.misses += reader.cacheMisses;
    cache.evictions += reader.cacheEvictions;
  }
  return cache;
}

function subscriberFigures(reader: ShardReader, rates: Rates, now: Moment): SubscriberFigures {
  const sample = subscriberSample(reader, rates, now);
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

/** Up to `most`, the oldest first. */
function partitionFigures(shard: Shard, most: number): PartitionFigures[] {
  return shard.partitions.all.slice(0, most).map((partition) => {
    const { queueId: _, ...figures } = partitionSample(shard, partition);
    return figures as PartitionFigures;
  });
}

/** Rates add up over shards; depth and the like are what the queue itself counts. */
function queueTotals(counts: QueueCounts, shards: readonly ShardFigures[]): QueueTotals {
  const { ready, held, delayed, enqueued, consumed, movedIn, movedOut } = counts;
  const windowMs = Math.max(0, ...shards.map((shard) => shard.windowMs));
  const countOf = (perSec: 'enqueuePerSec' | 'dequeuePerSec') =>
    shards.reduce((sum, shard) => sum + (shard[perSec] * windowMs) / 1000, 0);
  const depth = shards.reduce((sum, shard) => sum + shard.depth, 0);
  const flow = { windowMs, windowIn: countOf('enqueuePerSec'), windowOut: countOf('dequeuePerSec') };
  return { ...flowStats({ depth, ready, held }, flow), delayed, enqueued, consumed, movedIn, movedOut };
}
