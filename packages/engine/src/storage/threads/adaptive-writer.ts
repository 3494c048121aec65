/**
 * The writer of an instance whose process only serves sessions. Its groups are committed on the writer thread or on this one,
 * depending on measured commit times. Both threads have the file open, and one of them has the turn to write:
 *
 * - The turn passes at a group's end. The writer thread is asked to suspend after its queued groups; until it has, further groups
 *   wait here. A resume request precedes the first group for the writer thread, so groups can follow it at once.
 * - The thread that gets the turn receives the result of the last group and reloads its knowledge of the file
 *   (`InstanceFile.takeOver`).
 * - Statements of the application give the turn to the writer thread for good, which hands the file over to a process.
 *
 * On this thread a group is answered before `send` returns. Each group compares the epoch, on either thread.
 */
import { registerCounter } from '../../api/counters.ts';
import {
  type Group,
  type GroupResult,
  newWriterState,
  type StatementAnswer,
  type WriterState,
} from '../../model/group-message.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import { fromStorageFailure } from '../../model/storage-failure.ts';
import type { WaitRecorder } from '../../model/wait-recorder.ts';
import type { CommitPlacement } from './commit-place.ts';
import type { SessionThreadWriter } from './session-thread-writer.ts';
import type { WriterListener, WriterThread } from './writer-thread-client.ts';

export const groupsOnSessionThread = registerCounter({
  name: 'groups on session thread',
  unit: 'groups',
  about: 'groups that were committed on the session thread because syncs were short',
});

export const writerChanges = registerCounter({
  name: 'writer changes',
  unit: 'changes',
  about: 'changes of the thread that commits groups, from the writer thread to the session thread or back',
});

export interface AdaptiveWriterOptions {
  /** It has the file, and the turn. */
  thread: Pick<
    WriterThread,
    | 'attach'
    | 'send'
    | 'suspend'
    | 'resume'
    | 'executeStatement'
    | 'rollbackReservation'
    | 'cpuUs'
    | 'silentMs'
    | 'close'
  >;
  sessionThread: Pick<SessionThreadWriter, 'onFailed' | 'resume' | 'write' | 'close'>;
  placement: CommitPlacement;
  waits: WaitRecorder;
}

export class AdaptiveWriter {
  readonly #thread: AdaptiveWriterOptions['thread'];
  readonly #sessionThread: AdaptiveWriterOptions['sessionThread'];
  readonly #placement: CommitPlacement;
  readonly #waits: WaitRecorder;
  #listener: WriterListener | undefined;
  #turn: 'writer thread' | 'suspending' | 'session thread' = 'writer thread';
  /** Groups that came while the writer thread suspends. */
  #waiting: Group[] = [];
  /** Whether each of the groups that the writer thread has is synced, the oldest first. */
  readonly #syncedOnThread: boolean[] = [];
  /** How the last answered group ended. */
  #state: WriterState = newWriterState;
  /** The writer thread, or the process after it, has the turn for good. */
  #isPinned = false;

  constructor({ thread, sessionThread, placement, waits }: AdaptiveWriterOptions) {
    this.#thread = thread;
    this.#sessionThread = sessionThread;
    this.#placement = placement;
    this.#waits = waits;
  }

  /** As `WriterThread.attach`. */
  attach(listener: WriterListener): void {
    this.#listener = listener;
    this.#thread.attach({
      onResult: (result) => {
        this.#onResult(result, this.#syncedOnThread.shift()!);
        this.#followPlacement();
      },
      onApplied: (groups) => listener.onApplied(groups),
      fail: (error) => listener.fail(error),
    });
    this.#sessionThread.onFailed = (failure) => listener.fail(fromStorageFailure(failure));
  }

  send(group: Group): void {
    if (group.sqlTransactions.length > 0) this.#pin();
    if (this.#turn === 'suspending') this.#waiting.push(group);
    else if (this.#turn === 'writer thread') this.#sendToThread(group);
    else {
      this.#waits.add(groupsOnSessionThread);
      this.#sessionThread.write(group, (result) => this.#onResult(result, group.sync === 'FULL'));
      this.#followPlacement();
    }
  }

  executeStatement(statement: SqlStatement): Promise<StatementAnswer> {
    this.#pin();
    return this.#thread.executeStatement(statement);
  }

  /** As `WriterThread.whenApplied`. */
  async whenApplied(): Promise<void> {}

  rollbackReservation(): void {
    this.#thread.rollbackReservation();
  }

  get cpuUs(): number {
    return this.#thread.cpuUs;
  }

  /**
   * Silence of the writer thread only. While a group on the session thread hangs, that thread runs nothing that could ask, and
   * its lease lapses unrenewed.
   */
  get silentMs(): number {
    return this.#thread.silentMs;
  }

  /** Resolves when the file is closed. Groups sent before are written first. */
  async close(): Promise<void> {
    if (this.#turn === 'suspending') this.#resumeThread();
    this.#isPinned = true;
    this.#sessionThread.close();
    await this.#thread.close(); // last, so that it moves the write-ahead log into the file
  }

  #sendToThread(group: Group): void {
    this.#syncedOnThread.push(group.sync === 'FULL');
    this.#thread.send(group);
  }

  #onResult(result: GroupResult, isSynced: boolean): void {
    const { generation, failure, commitMs } = result;
    this.#state = { generation, failure };
    if (isSynced && failure === null) this.#placement.record(commitMs);
    this.#listener?.onResult(result);
  }

  #followPlacement(): void {
    if (this.#isPinned || this.#state.failure !== null || this.#turn === 'suspending') return;
    if (this.#turn === this.#placement.place) return;
    this.#waits.add(writerChanges);
    if (this.#turn === 'session thread') {
      this.#resumeThread(this.#state);
      return;
    }
    this.#turn = 'suspending';
    void this.#thread.suspend().then(() => this.#onThreadSuspended());
  }

  #onThreadSuspended(): void {
    if (this.#turn !== 'suspending') return; // it was asked to resume in the meantime
    this.#turn = 'session thread';
    this.#sessionThread.resume(this.#state);
    for (const group of this.#waiting.splice(0)) this.send(group);
  }

  /**
   * `state` is the result of the last group that was committed here; absent if there was none since the thread was asked to
   * suspend.
   */
  #resumeThread(state?: WriterState): void {
    this.#turn = 'writer thread';
    this.#thread.resume(state);
    for (const group of this.#waiting.splice(0)) this.#sendToThread(group);
  }

  #pin(): void {
    if (this.#isPinned) return;
    this.#isPinned = true;
    if (this.#turn === 'session thread') this.#resumeThread(this.#state);
    else if (this.#turn === 'suspending') this.#resumeThread();
    this.#sessionThread.close();
  }
}
