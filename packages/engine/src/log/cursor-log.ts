/** The interface of the log that a cursor reads. `MessageLog` implements it and creates the cursors. */
import type { LogId, QueueId, Seq, SubscriberId } from '../model/ids.ts';
import type { InvariantViolation } from '../model/invariant.ts';
import type { LogPartitions } from '../model/partitions.ts';
import type { LogTrace } from './log-trace.ts';
import type { CachedLog } from './message-cache.ts';

export interface CursorLog extends CachedLog {
  readonly id: LogId;
  readonly queueId: QueueId;
  /** Its queue was dropped. */
  readonly dropped: boolean;
  readonly partitions: LogPartitions;
  /** Called with the number of a message that a cursor passed over because it is addressed to others. */
  readonly onNotForSubscriber: ((seq: Seq) => void) | undefined;
  /** False if none of these messages is traced, so that nothing needs to be recorded. */
  traces(firstSeq: Seq, count: number): boolean;
  /** Undefined if nothing is traced, not even on request. */
  readonly trace: LogTrace | undefined;
  /** Stops the instance and throws the violation. */
  stopInstance(violation: InvariantViolation): never;
}

export interface CursorStart<Log extends CursorLog> {
  log: Log;
  subscriber: SubscriberId;
  /** The subscriber's name, which messages may list as a recipient; undefined for the cursor of a queue. */
  name: string | undefined;
  /** Whether its consumption is stored: a nondurable subscriber ends with its instance. */
  durable: boolean;
  firstSeq: Seq;
  /** Lower numbers were committed when the instance opened, so some of them may be terminal. */
  recoveredEndSeq: Seq;
}
