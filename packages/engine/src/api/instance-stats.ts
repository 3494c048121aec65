/** The result of `Instance.stats`. */
export interface PartitionStats {
  partition: number;
  /** `drained`: it is being truncated. `damaged`: its messages cannot be read, and its shard delivers none behind them. */
  state: 'filling' | 'full' | 'drained' | 'damaged';
  /** Share of its capacity in use, 0 to 1. */
  fill: number;
  /** Share of its messages that are terminal, 0 to 1. */
  drained: number;
}

export interface ShardStats {
  shard: number;
  queue: string;
  /** Messages committed and not consumed. */
  backlog: number;
  /** Bytes of its messages in the message cache. */
  cacheBytes: number;
  partitions: PartitionStats[];
}

/** Damage of stored data that a scrub found. */
export interface DamageFinding {
  /** A sentence that names the file, and the table, queue or message as far as it is known. */
  message: string;
  /** When a scrub found it first, epoch milliseconds. */
  foundAtMs: number;
}

/** Scrubs read all files of the instance in the background and verify what was stored. */
export interface ScrubStats {
  /** Since the instance opened. */
  completed: number;
  /** Epoch milliseconds. */
  lastCompletedAtMs: number | null;
  /** Findings of the last scrub; empty if there were none. */
  findings: DamageFinding[];
}

export interface InstanceStats {
  instance: number;
  /** Fencing token: raised in the instance's file each time it is opened. */
  epoch: number;
  /** Messages enqueued and consumed by commits of this instance's sessions since it opened. */
  enqueued: number;
  consumed: number;
  /** Commits that a caller waited for, not what the instance writes by itself (messages that become due, forwarded batches). */
  commits: number;
  /** Group commits: commits ÷ groups is how many transactions shared one. */
  groups: number;
  /**
   * Group commits that were synced: relaxed ones, and those of nonpersistent queues only, are not. Syncs of checkpoints
   * and of the catalog come on top. A sync of the elected writer of grouped unsharded queues counts in each instance that
   * it served.
   */
  syncs: number;
  /** CPU time of the session thread, with the groups that are committed on it, and of the writer since they started, microseconds. */
  cpu: { sessionUs: number; writerUs: number };
  /** Values of all registered counters, by name: `counters()` says what each counts. */
  counters: Record<string, number>;
  /** Bytes of the write-ahead logs of its two files. Beyond about 64 MB a reader keeps them from being reused. */
  logBytes: number;
  /** Shards of this instance. An unsharded queue counts as one shard, number 0, without partitions. */
  shards: ShardStats[];
  scrub: ScrubStats;
}
