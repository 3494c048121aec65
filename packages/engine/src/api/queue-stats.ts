/** The result of `Instance.queueStats`: the figures of the views in the files (`docs/monitoring.md`), at the time of the call. */
import type { PartitionStats } from './instance-stats.ts';
import type { QueueKind, QueueType } from './queue-settings.ts';

/** `steady`: there are messages, and they are enqueued and dequeued at the same rate, or not at all. */
export type DrainState = 'empty' | 'draining' | 'growing' | 'steady';

/** Number of messages, rates of enqueue and dequeue, and the time until the backlog is empty at these rates. */
export interface FlowStats {
  /** Messages committed and not consumed; for a topic, the longest backlog of its subscribers. */
  depth: number;
  ready: number;
  held: number;
  /** The interval over which the rates are measured. */
  windowMs: number;
  enqueuePerSec: number;
  dequeuePerSec: number;
  drainState: DrainState;
  /** Time until it is empty at these rates; null unless it is draining. */
  drainMs: number | null;
  /** The same if no more messages were enqueued; null if none are dequeued. */
  drainMsWithoutEnqueues: number | null;
}

/** First deliveries since the instance opened: `hits` came from the cache, `misses` were read back from a partition. */
export interface CacheStats {
  bytes: number;
  hits: number;
  misses: number;
  /** Messages that did not fit the cache when they were committed. */
  evictions: number;
}

export interface ShardMetrics extends FlowStats {
  shard: number;
  priority: number;
  /** Returned messages that wait for their retry delay. */
  paused: number;
  /** `enqueued` includes messages forwarded in, `consumed` those forwarded out. */
  enqueued: number;
  consumed: number;
  cache: CacheStats;
  partitions: Record<PartitionStats['state'], number>;
}

/** One subscriber's position in one shard. A queue has a single one, without a name. */
export interface SubscriberMetrics extends FlowStats {
  shard: number;
  subscriber: string | null;
  durable: boolean;
  paused: number;
  /** All messages below `watermark` are terminal for it; all below `position` were delivered to it at least once. */
  watermark: number;
  position: number;
  /** Committed dequeues since the instance opened. */
  dequeued: number;
  lastDequeueAtMs: number | null;
  /** Enqueue time of its oldest ready message in the cache. */
  oldestReadyAtMs: number | null;
  cache: Omit<CacheStats, 'bytes'>;
}

export interface PartitionMetrics {
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
  /** Messages that are not due yet or wait for their retry delay. */
  delayed: number;
  enqueued: number;
  consumed: number;
  /** Forwarded from and to other instances: see `QueueInfo`. */
  forwardedIn: number;
  forwardedOut: number;
  /** Messages that flow control refused since the instance opened; flow control compares `depth` with `messagesMax`. */
  refused: number;
  /**
   * Messages of a nonpersistent queue that were in memory when the instance stopped before it was opened: exact after an
   * orderly close, else as of its last sample.
   */
  lost: number;
}

/** A queue on one instance. An unsharded queue has totals only, those of its file. */
export interface QueueStats {
  queue: string;
  kind: QueueKind;
  type: QueueType;
  instance: number;
  asOfMs: number;
  total: QueueTotals;
  /**
   * Time from the enqueue of messages to their first delivery: dequeue calls by duration (`latencyQuantileMs`), each with that
   * of its first message, since the statistics of the queue were first asked for here. A sample of the calls, by weight.
   */
  deliveryLatency: number[];
  shards: ShardMetrics[];
  /** Up to 1,000, those with the longest backlog first. */
  subscribers: SubscriberMetrics[];
  /** Up to 1,000, the oldest of each shard first; `shards` counts all of them. */
  partitions: PartitionMetrics[];
}
