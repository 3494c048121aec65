import type { Epoch, InstanceId, LogId, PartitionId, QueueId, Seq, SubscriberId } from './ids.ts';

/**
 * Samples: figures that only an instance's memory knows, as of one moment. They are written to tables of its file, where
 * anyone can read them with SQL. Counts are totals since the instance opened unless they say otherwise.
 */
export interface InstanceSample {
  instance: InstanceId;
  commits: number;
  groups: number;
  cacheBytes: number;
  cacheBytesMax: number;
}

export interface QueueSample {
  queueId: QueueId;
  name: string;
  type: string;
  durability: string;
}

export interface ShardSample {
  queueId: QueueId;
  shard: LogId;
  priority: number;
  enqueued: number;
  backlog: number;
  held: number;
  paused: number;
  cacheBytes: number;
  windowMs: number;
  windowIn: number;
  windowOut: number;
}

export interface SubscriberSample {
  queueId: QueueId;
  shard: LogId;
  subscriber: SubscriberId;
  name: string | null;
  durable: number;
  firstSeq: Seq;
  /** Messages below are terminal for it; those below `position` were delivered at least once. */
  watermark: Seq;
  position: Seq;
  backlog: number;
  held: number;
  paused: number;
  /** Committed dequeues since the instance opened. */
  dequeued: number;
  lastDequeueMs: number | null;
  oldestReadyMs: number | null;
  cacheHits: number;
  cacheMisses: number;
  cacheEvictions: number;
  windowMs: number;
  windowIn: number;
  windowOut: number;
}

export interface PartitionSample {
  partition: PartitionId;
  queueId: QueueId;
  shard: LogId;
  firstSeq: Seq;
  state: string;
  messages: number;
  terminal: number;
  bytes: number;
  fill: number;
}

export interface SampleRows {
  queue: QueueSample;
  shard: ShardSample;
  subscriber: SubscriberSample;
  partition: PartitionSample;
}

export type SampleTable = keyof SampleRows;

/** Some rows of a sweep, all of them as of its moment. */
export interface Sample {
  epoch: Epoch;
  asOfMs: number;
  rows: { [T in SampleTable]: SampleRows[T][] };
  /** Set with the last rows of a sweep. */
  instanceOnLastRows: InstanceSample | null;
}
