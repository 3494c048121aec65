/** What one transaction of sharded queues wants to commit: messages in, messages out. */
import type { CachedRun } from './message-cache.ts';
import type { Delivery, Shard } from './shard.ts';

/** Messages of one transaction for one shard; numbered when their group closes. */
export interface StagedRun {
  shard: Shard;
  segments: CachedRun[];
  count: number;
  firstSeq: number;
}

export interface StagedTransaction {
  runs: StagedRun[];
  /** Held messages that the commit consumes. */
  deliveries: Delivery[];
  bytes: number;
  /** FULL if any of its queues is durable. */
  sync: 'FULL' | 'NORMAL';
}
