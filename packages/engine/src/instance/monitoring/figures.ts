/** The figures of shards, subscribers and partitions as they stand in memory, in the shape that samples are written in. */
import type { Partition } from '../../core/partition-life.ts';
import { RateWindow } from '../../core/rate-window.ts';
import { priorityOf } from '../../core/shard-number.ts';
import type {
  PartitionSample,
  QueueSample,
  ShardSample,
  SubscriberSample,
} from '../../storage/sample-table.ts';
import type { Shard } from '../shard.ts';
import type { ShardReader } from '../shard-reader.ts';
import type { ShardedQueue } from '../sharded-queue.ts';

/** Now, on the clock of the wall and on one that never goes back, milliseconds. */
export interface Moment {
  epochMs: number;
  monotonicMs: number;
}

interface Watched {
  window: RateWindow;
  dequeued: number;
  lastDequeueMs: number | null;
}

/** What is remembered from one look to the next: where the windows of rates begin. */
export class Rates {
  readonly #watched = new WeakMap<Shard | ShardReader, Watched>();

  /** Once a second or so. */
  advance(queue: ShardedQueue, now: Moment): void {
    for (const shard of queue.shards) {
      this.#watch(shard, now).window.advance(now.monotonicMs, countersOf(shard));
      for (const reader of shard.readers) {
        const watched = this.#watch(reader, now);
        watched.window.advance(now.monotonicMs, countersOf(reader));
        if (reader.dequeued > watched.dequeued) watched.lastDequeueMs = now.epochMs;
        watched.dequeued = reader.dequeued;
      }
    }
  }

  flow(of: Shard | ShardReader, now: Moment) {
    const flow = this.#watch(of, now).window.flow(now.monotonicMs, countersOf(of));
    return { ...flow, windowMs: Math.round(flow.windowMs) };
  }

  lastDequeueMs(reader: ShardReader, now: Moment): number | null {
    const { dequeued, lastDequeueMs } = this.#watch(reader, now);
    return reader.dequeued > dequeued ? now.epochMs : lastDequeueMs;
  }

  #watch(of: Shard | ShardReader, { monotonicMs }: Moment): Watched {
    let watched = this.#watched.get(of);
    if (watched === undefined) {
      const counters = countersOf(of);
      watched = { window: new RateWindow(monotonicMs, counters), dequeued: 0, lastDequeueMs: null };
      this.#watched.set(of, watched);
    }
    return watched;
  }
}

/** A subscriber's come to its shard, and go when it consumes them. */
function countersOf(of: Shard | ShardReader): { in: number; out: number } {
  if ('readers' in of) return { in: of.enqueued, out: of.enqueued - of.backlog };
  return { in: of.shard.enqueued, out: of.dequeued };
}

export function queueSample({ row }: ShardedQueue): QueueSample {
  const { queueId, name, type, durability } = row;
  return { queueId, name, type, durability };
}

export function shardSample(shard: Shard, rates: Rates, now: Moment): ShardSample {
  const { queueId, no, enqueued, backlog, held, paused, cacheBytes } = shard;
  const counts = { enqueued, backlog, held, paused, cacheBytes };
  return { queueId, shard: no, priority: priorityOf(no), ...counts, ...rates.flow(shard, now) };
}

export function subscriberSample(reader: ShardReader, rates: Rates, now: Moment): SubscriberSample {
  const { shard, subscriber, name = null, durable, firstSeq, position, consumption } = reader;
  const { backlog, held, paused, dequeued, cacheHits, cacheMisses, cacheEvictions } = reader;
  return {
    queueId: shard.queueId,
    shard: shard.no,
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
    lastDequeueMs: rates.lastDequeueMs(reader, now),
    oldestReadyMs: reader.oldestReadyAtMs ?? null,
    cacheHits,
    cacheMisses,
    cacheEvictions,
    ...rates.flow(reader, now),
  };
}

/** Messages of groups that are under way are left out, but not their bytes. */
export function partitionSample(shard: Shard, partition: Partition): PartitionSample {
  const { no, firstSeq, bytes } = partition;
  const endSeq = Math.max(firstSeq, Math.min(partition.endSeq, shard.committedEnd));
  const terminal = shard.terminalBetween(firstSeq, endSeq);
  const messages = endSeq - firstSeq;
  const [state, fill] = [shard.partitions.stateOf(partition), shard.partitions.fillOf(partition)];
  return {
    partition: no,
    queueId: shard.queueId,
    shard: shard.no,
    firstSeq,
    state,
    messages,
    terminal,
    bytes,
    fill,
  };
}
