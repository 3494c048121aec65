/** What one transaction of sharded queues wants to commit: messages in, messages out. */
import type { SideChange } from '../storage/side-change.ts';
import type { Delivery } from './hand-out.ts';
import type { CachedRun } from './message-cache.ts';
import type { OutcomeEntry } from './outcome-book.ts';
import type { Shard } from './shard.ts';

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
  /** Rarely used: called when the group closes, before its messages are numbered, for what else it is to write. */
  side?: () => SideChange[];
  bytes: number;
  /** FULL if any of its queues is durable. */
  sync: 'FULL' | 'NORMAL';
  /** For a remote session: what the commit is remembered by. */
  outcome?: OutcomeTag & {
    /** For each enqueue call, the index of its run. */
    runOfCall: readonly number[];
  };
}

/** Names a transaction of a remote session; its outcome is stored with its commit. */
export interface OutcomeTag {
  entry: OutcomeEntry;
  no: number;
}
