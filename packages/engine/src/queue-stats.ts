/** What `Instance.queueStats` tells: the same figures as the views in the files (`docs/monitoring.md`), as of now. */
import type { DrainState } from './core/rate-window.ts';
import type { PartitionStats, QueueKind, QueueType } from './types.ts';

export type { DrainState };

/** How many messages there are, how fast they come and go, and when there will be none. */
export interface FlowStats {
  /** Messages committed and not consumed; of a topic, before the subscriber that has most before it. */
  depth: number;
  ready: number;
  held: number;
  /** Over which the rates are counted, milliseconds. */
  windowMs: number;
  enqueuePerSec: number;
  dequeuePerSec: number;
  drainState: DrainState;
  /** Until it is empty at these rates; null unless it drains. */
  drainMs: number | null;
  /** The same if nothing more came; null if nothing goes. */
  drainMsWithoutEnqueues: number | null;
}

/** First hand-outs since the instance opened: of messages that stayed in the cache, and of such that were read back. */
export interface CacheStats {
  bytes: number;
  hits: number;
  misses: number;
  /** Messages that had no place in the cache when they were committed. */
  evictions: number;
}

export interface ShardFigures extends FlowStats {
  shard: number;
  priority: number;
  /** Came back, and wait for their retry delay. */
  paused: number;
  /** Those that came from other instances are among the first, those that went to them among the second. */
  enqueued: number;
  consumed: number;
  cache: CacheStats;
  partitions: Record<PartitionStats['state'], number>;
}

/** One subscriber in one shard; a queue has one without a name. */
export interface SubscriberFigures extends FlowStats {
  shard: number;
  subscriber: string | null;
  durable: boolean;
  paused: number;
  /** Messages below are terminal for it; those below `position` were handed out to it at least once. */
  watermark: number;
  position: number;
  /** Committed dequeues since the instance opened. */
  dequeued: number;
  lastDequeueAtMs: number | null;
  /** When its oldest message that waits in the cache was enqueued. */
  oldestReadyAtMs: number | null;
  cache: Omit<CacheStats, 'bytes'>;
}

export interface PartitionFigures {
  partition: number;
  shard: number;
  state: PartitionStats['state'];
  firstSeq: number;
  messages: number;
  terminal: number;
  bytes: number;
  fill: number;
}

export interface QueueTotals extends FlowStats {
  /** Not due yet, or paused after they came back. */
  delayed: number;
  enqueued: number;
  consumed: number;
  /** From and to other instances: see `QueueInfo`. */
  movedIn: number;
  movedOut: number;
}

/** A queue on one instance; an unsharded one has only totals, of its one file. */
export interface QueueStats {
  queue: string;
  kind: QueueKind;
  type: QueueType;
  instance: number;
  asOfMs: number;
  total: QueueTotals;
  shards: ShardFigures[];
  /** Up to 1,000, those with the most messages before them first. */
  subscribers: SubscriberFigures[];
  /** Up to 1,000, the oldest of each shard first; `shards` counts them all. */
  partitions: PartitionFigures[];
}
