/** How the sessions of one process write to the unsharded file: each for itself, or in groups of an elected writer. */
import type { IdRun } from '../model/id-runs.ts';
import type { QueueId } from '../model/ids.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { ClaimBounds, HeldMessage, MessageConsumer } from '../storage/unsharded/message-consumer.ts';
import type { ClaimedRow, UnshardedChange, UnshardedFile } from '../storage/unsharded/unsharded-file.ts';

export interface ClaimingCall extends ClaimBounds {
  /** A claim for the call begins, and ends with `finish`. Meanwhile its time is not over, so that its messages keep their place. */
  begin(): void;
  /** Without rows the call keeps waiting. Returns false if its wait has already ended: then no caller got the messages. */
  finish(rows: readonly ClaimedRow[]): boolean;
}

/**
 * Rejects with the storage errors, and with `INSTANCE_CLOSED` once it is closed. `time` is that of the session that waits for
 * the call, if one does.
 */
export interface UnshardedWrites {
  /** Whether it announces when a queue has got messages, from any process. */
  readonly announcesReady: boolean;
  /** Writes, synced or relaxed, that had commits of this process; one write can have several commits. */
  readonly groupCount: number;
  /** Number of writes that were synced. A sync of an elected writer that served several processes counts in each of them. */
  readonly syncCount: number;
  /** Opens the file under the write lock, since opening writes to it. */
  open(): Promise<void>;
  /** Resolves once the change is as durable as it asks to be. */
  commit(change: UnshardedChange, time?: RecordedTime): Promise<IdRun[]>;
  /** Claims ready messages in order. */
  claim(consumer: MessageConsumer, bounds: ClaimBounds, time?: RecordedTime): Promise<readonly ClaimedRow[]>;
  /** Finishes waiting calls in order until one would get no message. */
  serve(consumer: MessageConsumer, calls: Iterable<ClaimingCall>): Promise<void>;
  /** Makes messages of this process ready again. */
  release(messages: readonly HeldMessage[], sync: 'FULL' | 'NORMAL'): Promise<void>;
  /** Runs a write that is no part of a transaction, such as a change of subscribers, under the write lock. */
  run<T>(work: (file: UnshardedFile) => T): Promise<T>;
  drop(queueId: QueueId): Promise<void>;
  forgetOutcomes(sessions: readonly Buffer[]): Promise<void>;
  /** Makes messages that dead processes held ready again, if this process has to; returns their number. */
  releaseHeldByDeadProcesses(): Promise<number>;
  /** Closes the file, if it was opened, which releases all holds of this process and forgets the outcomes of `sessions`. */
  close(sessions: readonly Buffer[]): Promise<void>;
}
