/** What a cursor needs of the log that it reads. `MessageLog` implements it and creates the cursors. */
import type { LogId, QueueId } from '../model/ids.ts';
import type { InvariantViolation } from '../model/invariant.ts';
import type { LogPartitions } from '../model/log-partitions.ts';
import type { CachedRun, CacheShare } from './message-cache.ts';

export interface CursorLog {
  readonly id: LogId;
  readonly queueId: QueueId;
  /** False for a nonpersistent queue: its messages are in the cache only. */
  readonly persistent: boolean;
  /** Its queue was dropped. */
  readonly dropped: boolean;
  /** Messages with lower numbers are committed. */
  readonly committedEndSeq: number;
  readonly partitions: LogPartitions;
  readonly cacheShare: CacheShare;
  /** Called with the number of a message that a cursor passed over because it is addressed to others. */
  readonly onNotForSubscriber: ((seq: number) => void) | undefined;
  retainCached(run: CachedRun, times: number): void;
  releaseCached(run: CachedRun, times: number): void;
  /** Stops the instance and throws the violation. */
  stopInstance(violation: InvariantViolation): never;
}
