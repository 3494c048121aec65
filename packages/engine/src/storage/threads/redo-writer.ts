/**
 * The writer of an instance, on the thread of its sessions: a group is appended to the redo log and synced, then answered. The applier
 * follows and writes it to the tables. From the application's first statement on the applier is a process, as long as the instance is
 * open: nothing can end a statement but the end of its process.
 *
 * A group's life: it waits in `#queue` for room in the log, is written, and waits in `#written` for its sync. What was answered is
 * applied when enough has come together, after `applyMsMax`, or when a read waits for it. A group with statements is not logged: once
 * everything before it is applied, the process runs them and commits the group to the tables, while those behind it wait. The next
 * record says that the tables must have it.
 */
import { QueueError } from '../../api/errors.ts';
import type { AppliedGroups, AppliedWork } from '../../model/applied-groups.ts';
import type { EmulatedSync } from '../../model/emulated-sync.ts';
import type {
  CommitAnswer,
  Group,
  GroupResult,
  StatementAnswer,
  WriterState,
} from '../../model/group-message.ts';
import { newWriterState } from '../../model/group-message.ts';
import type { Epoch, GroupNumber } from '../../model/ids.ts';
import type { InstancePorts, Timer } from '../../model/ports.ts';
import type { RecoveredInstance } from '../../model/recovered-instance.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import { fromStorageFailure, type StorageFailure } from '../../model/storage-failure.ts';
import { lockLog, lockPath } from '../redo/log-lock.ts';
import { RedoLog } from '../redo/redo-log.ts';
import { isNoSpace, openSegment, segmentPath } from '../redo/segment-files.ts';
import type { FolderLock } from '../sqlite/folder-lock.ts';
import { AcknowledgedNumberFile, acknowledgedNumberPath } from '../sqlite/write-ahead-log.ts';
import { type Applier, TransientFailure } from './applier.ts';
import { ApplierThread } from './applier-thread.ts';
import { LogSyncs } from './log-syncs.ts';
import { transactionFailure } from './process-messages.ts';
import { undoneAnswer, WriterProcess } from './writer-process-client.ts';

export interface WriterOptions {
  path: string;
  emulatedSync: EmulatedSync;
  /** Of SQLite's own write-ahead log. */
  logBytesMax: number;
  /** That of the last opening which is known of. */
  epochKnown: Epoch;
}

type WriterPorts = Pick<InstancePorts, 'clock' | 'timers' | 'processes'>;

export interface WriterListener {
  onResult(result: GroupResult): void;
  /** The tables have groups that were answered before. */
  onApplied(groups: AppliedGroups, work?: AppliedWork): void;
  /** Nothing more can be written, or the thread ended unexpectedly. */
  fail(error: QueueError): void;
}

/** Bytes of answered groups that are applied at once, and how long the first of them waits for others. */
const applyBytesMin = 8 * 1024 * 1024;
const applyMsMax = 100;
/** Pause after the applier found the disk full. */
const applyRetryMs = 500;
/** Segments that are added to a log that is too small for its load, up to this size of all of them. */
const segmentBytes = 4 * 1024 * 1024;
const redoBytesMax = 64 * 1024 * 1024;

interface WrittenGroup {
  group: Group;
  /** When its write began; before that, when it was sent. */
  startedAtMs: number;
  /** Since when it waits for room in the log; undefined: it has not. */
  noRoomSinceMs: number | undefined;
  /** Of this in all, milliseconds. */
  switchMs: number;
  /** It has statements, or commits those that were executed before it. */
  isPastLog: boolean;
}

const nothingDone = { unusablePartitions: [], sqlOutcomes: [], maintenanceMs: 0, commitMs: 0 };

/** Bytes of groups with which it pays to hand a sync to another thread, if clients have work for this one meanwhile. */
const handedSyncBytesMin = 8 * 1024;

export class RedoWriter {
  hasClients = false;
  readonly #options: WriterOptions;
  readonly #ports: WriterPorts;
  readonly #lock: FolderLock;
  readonly #thread: ApplierThread;
  /** The thread, or the process from the application's first statement on. */
  #applier: Applier;
  readonly #epoch: Epoch;
  readonly #log: RedoLog;
  readonly #syncs: LogSyncs;
  readonly #acknowledged: AcknowledgedNumberFile;
  #listener: WriterListener | undefined;
  #fatal: QueueError | undefined;
  #state: WriterState = newWriterState;
  #queue: WrittenGroup[] = [];
  #written: WrittenGroup[] = [];
  #syncing = false;
  /** Bytes of the log when the last sync began. */
  #bytesAtSync = 0;
  #durableThrough: GroupNumber;
  #appliedThrough: GroupNumber;
  /** Bytes of the log when the last apply was asked for. */
  #bytesAtApply = 0;
  #applying: Promise<void> | undefined;
  #applyTimer: Timer | undefined;
  /** Why there is no room in the log, for the group that waits for it. */
  #refusal: StorageFailure | undefined;
  #applyWaits: { through: GroupNumber; resolve(): void; reject(error: unknown): void }[] = [];
  #growing = false;
  #process: WriterProcess | undefined;
  /** The first group in `#queue` is being committed past the log. */
  #committing = false;
  /** A group that the tables have and the log has not, for its next record; 0: the log has the last one. */
  #requiresApplied: GroupNumber;
  #releases = 0;
  #closed = false;

  private constructor(
    options: WriterOptions,
    ports: WriterPorts,
    lock: FolderLock,
    thread: ApplierThread,
    { epoch, redo }: RecoveredInstance,
  ) {
    this.#options = options;
    this.#ports = ports;
    this.#lock = lock;
    this.#thread = thread;
    this.#applier = thread;
    this.#epoch = epoch;
    const { logId, turn: lastTurn, end, inTables } = redo;
    const segments = redo.segments.map((row) => openSegment(options.path, row));
    this.#log = new RedoLog({ logId, segments, lastTurn, end });
    this.#syncs = new LogSyncs(this.#log, options.emulatedSync, ports.clock);
    this.#acknowledged = new AcknowledgedNumberFile(acknowledgedNumberPath(options.path));
    this.#durableThrough = end.group;
    this.#appliedThrough = end.group;
    this.#requiresApplied = inTables > end.group ? inTables : 0;
  }

  /**
   * Opens the file in a thread of its own and recovers its state. Throws the errors of opening it, and `INSTANCE_IN_USE` if the process
   * that had the log has not ended after 5 s.
   */
  static async start(
    options: WriterOptions,
    ports: WriterPorts,
  ): Promise<{ writer: RedoWriter; recovered: RecoveredInstance }> {
    const lock = await lockLog(options.path, ports.timers);
    try {
      const { applier, recovered } = await ApplierThread.open(options, ports.clock);
      return { writer: new RedoWriter(options, ports, lock, applier, recovered), recovered };
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Sends the answers to groups to the listener from now on. Call it before the first group is sent. */
  attach(listener: WriterListener): void {
    this.#listener = listener;
    if (this.#fatal !== undefined) listener.fail(this.#fatal);
  }

  send(group: Group): void {
    const isPastLog = group.sqlTransactions.length > 0 || this.#process?.hasOpenTransaction === true;
    if (isPastLog) this.#startProcess(); // it starts while those before the group are written
    const startedAtMs = this.#ports.clock.monotonicMs();
    this.#queue.push({ group, startedAtMs, noRoomSinceMs: undefined, switchMs: 0, isPastLog });
    this.#advance();
  }

  /** Writes what waits, as far as there is room, and syncs it. */
  #advance(): void {
    while (this.#queue.length > 0 && this.#fatal === undefined && !this.#committing) {
      const next = this.#queue[0]!;
      const outcome = this.#refusalOf(next.group) ?? this.#write(next);
      if (outcome === 'waits') break;
      this.#queue.shift();
      if (outcome === 'written') this.#written.push(next);
      else this.#answer(next, { ...nothingDone, failure: outcome });
    }
    this.#sync();
  }

  /** Groups behind a failed one fail too, up to the first that was built after the failure. */
  #refusalOf({ generation: ofGroup }: Group): StorageFailure | undefined {
    const { generation, failure } = this.#state;
    return failure !== null && (failure.fatal || ofGroup === generation) ? failure : undefined;
  }

  #write(next: WrittenGroup): 'written' | 'waits' | StorageFailure {
    const { group, isPastLog } = next;
    if (isPastLog) {
      if (this.#written.length === 0) void this.#commit(next);
      return 'waits';
    }
    const nowMs = this.#ports.clock.monotonicMs();
    try {
      const isWritten = this.#log.append({
        group: group.groupNumber,
        requiresApplied: this.#requiresApplied,
        isDurable: group.sync === 'FULL',
        content: group,
      });
      if (isWritten) {
        this.#requiresApplied = 0;
        next.startedAtMs = nowMs;
        if (next.noRoomSinceMs !== undefined) next.switchMs = nowMs - next.noRoomSinceMs;
        return 'written';
      }
    } catch (error) {
      const failure = toLogFailure(error, this.#options.path);
      // Answers are in order. Those before it are synced first, and then it is tried once more.
      return failure.fatal || this.#written.length === 0 ? failure : 'waits';
    }
    next.noRoomSinceMs ??= nowMs;
    const refusal = this.#refusal;
    if (refusal === undefined) this.#makeRoom(group);
    else if (this.#written.length === 0) {
      this.#refusal = undefined;
      return refusal;
    }
    return 'waits';
  }

  /** Has the process run the group's statements and commit it, once the tables have everything before it. Nothing is logged meanwhile. */
  async #commit(next: WrittenGroup): Promise<void> {
    this.#committing = true;
    const { groupNumber } = next.group;
    let answer: CommitAnswer;
    try {
      await this.#whenAllApplied();
      answer = await this.#process!.commit(next.group);
    } catch (error) {
      if (!(error instanceof TransientFailure)) {
        this.#onFatal(toInstanceError(error));
        return;
      }
      answer = { ...nothingDone, failure: error.failure };
    }
    this.#committing = false;
    this.#queue.shift();
    if (answer.failure === null) {
      this.#appliedThrough = groupNumber;
      this.#requiresApplied = groupNumber;
      this.#log.onApplied(groupNumber);
    }
    this.#answer(next, answer);
    this.#advance();
  }

  /** The applier frees segments, or adds one if it may. */
  #makeRoom(group: Group): void {
    this.#requestApply();
    const needed = RedoLog.segmentBytesFor(group);
    const isTooSmall = !this.#log.fits(needed);
    if (this.#growing || (this.#log.bytes >= redoBytesMax && !isTooSmall)) return;
    this.#growing = true;
    const number = 1 + Math.max(-1, ...this.#log.segmentNumbers);
    const segment = { number, bytes: Math.max(segmentBytes, needed) };
    this.#applier.addSegment(segment).then(
      () => {
        this.#growing = false;
        this.#log.add(openSegment(this.#options.path, segment));
        this.#advance();
      },
      (error: unknown) => {
        this.#growing = false;
        // Otherwise the segments that there are will do, once they are applied.
        if (isTooSmall || !(error instanceof TransientFailure)) this.#onApplierFailed(error);
      },
    );
  }

  #sync(): void {
    if (this.#syncing || this.#written.length === 0) return;
    if (!this.#written.some(({ group }) => group.sync === 'FULL')) {
      this.#answerWritten(this.#written.length);
      if (this.#queue.length > 0) this.#advance();
      return;
    }
    const count = this.#written.length;
    this.#syncing = true;
    const bytes = this.#log.writtenBytes - this.#bytesAtSync;
    this.#bytesAtSync = this.#log.writtenBytes;
    this.#syncs.sync(
      this.hasClients && bytes >= handedSyncBytesMin,
      () => {
        this.#syncing = false;
        this.#answerWritten(count);
        if (this.#queue.length > 0) this.#advance();
        else this.#sync();
      },
      (error) => this.#onFatal(error),
    );
  }

  #answerWritten(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      const written = this.#written.shift()!;
      const commitMs = this.#ports.clock.monotonicMs() - written.startedAtMs;
      this.#answer(written, { ...nothingDone, failure: null, commitMs });
    }
  }

  #answer({ group, switchMs, isPastLog }: WrittenGroup, answer: CommitAnswer): void {
    const { groupNumber, generation, sync } = group;
    const { failure } = answer;
    this.#state = { generation, failure };
    if (failure === null) {
      this.#durableThrough = groupNumber;
      // A relaxed group may be lost in a power cut, so its absence must not count as damage.
      if (sync === 'FULL') this.#acknowledged.write(groupNumber);
      this.#applySoon();
    } else if (failure.fatal) this.#fatal ??= fromStorageFailure(failure);
    this.#listener?.onResult({
      kind: 'group',
      groupNumber,
      generation,
      appliedThrough: isPastLog && failure === null ? groupNumber : 0,
      ...answer,
      switchMs,
      cpuUs: this.cpuUs,
    });
  }

  #applySoon(): void {
    if (this.#applying !== undefined || this.#appliedThrough >= this.#durableThrough) return;
    if (this.#log.writtenBytes - this.#bytesAtApply >= applyBytesMin) this.#requestApply();
    else this.#applyTimer ??= this.#ports.timers.after(applyMsMax, () => this.#requestApply());
  }

  /** Has everything applied that is durable now, after what is being applied. */
  #requestApply(): void {
    this.#applyTimer?.cancel();
    this.#applyTimer = undefined;
    if (this.#applying !== undefined || this.#fatal !== undefined) return;
    if (this.#appliedThrough >= this.#durableThrough) return;
    this.#bytesAtApply = this.#log.writtenBytes;
    this.#applying = this.#applier.apply(this.#durableThrough).then(
      (applied) => {
        this.#applying = undefined;
        this.#onApplied(applied);
      },
      (error: unknown) => {
        this.#applying = undefined;
        this.#onApplierFailed(error);
      },
    );
  }

  #onApplied({ through, unusablePartitions, work }: AppliedGroups & { work: AppliedWork }): void {
    this.#refusal = undefined;
    this.#appliedThrough = through;
    this.#log.onApplied(through);
    this.#listener?.onApplied({ through, unusablePartitions }, work);
    for (const wait of this.#applyWaits) if (wait.through <= through) wait.resolve();
    this.#applyWaits = this.#applyWaits.filter((wait) => wait.through > through);
    if (this.#applyWaits.length > 0) this.#requestApply();
    else if (this.#appliedThrough < this.#durableThrough) this.#applySoon();
    this.#advance();
  }

  #onApplierFailed(error: unknown): void {
    if (!(error instanceof TransientFailure)) {
      this.#onFatal(toInstanceError(error));
      return;
    }
    if (this.#queue.length > 0 && !this.#committing) this.#refusal = error.failure;
    for (const wait of this.#applyWaits.splice(0)) wait.reject(error);
    this.#applyTimer ??= this.#ports.timers.after(applyRetryMs, () => this.#requestApply());
    this.#advance();
  }

  whenApplied(through: GroupNumber): Promise<void> {
    return this.#whenApplied(through).catch((error: unknown) => {
      throw error instanceof TransientFailure ? fromStorageFailure(error.failure) : error;
    });
  }

  /** Rejects with a `TransientFailure`, or with why nothing more can be applied. */
  #whenAllApplied(): Promise<void> {
    return this.#whenApplied(this.#durableThrough);
  }

  #whenApplied(through: GroupNumber): Promise<void> {
    if (this.#appliedThrough >= through) return Promise.resolve();
    if (this.#fatal !== undefined) return Promise.reject(this.#fatal);
    return new Promise((resolve, reject) => {
      this.#applyWaits.push({ through, resolve, reject });
      this.#requestApply();
    });
  }

  #onFatal(error: QueueError): void {
    if (this.#fatal !== undefined || this.#closed) return;
    this.#fatal = error;
    for (const wait of this.#applyWaits.splice(0)) wait.reject(error);
    this.#listener?.fail(error);
  }

  /** Runs a statement of the session that reserved the writer; one at a time. Rejects if the writer has ended. */
  async executeStatement(statement: SqlStatement): Promise<StatementAnswer> {
    if (this.#fatal !== undefined) throw this.#fatal;
    const process = this.#startProcess();
    if (!process.hasOpenTransaction) {
      // From the first one on nothing can be applied. No group is sent, since the writer is reserved, and so none waits for that.
      const releases = this.#releases;
      const refusal = await this.#whenAllApplied().then(
        () => (releases === this.#releases ? null : transactionFailure('WRITER_RESERVATION_EXPIRED')),
        (error: unknown) => {
          if (error instanceof TransientFailure) return error.failure;
          throw error;
        },
      );
      if (refusal !== null) return undoneAnswer(refusal);
    }
    const answer = await process.executeStatement(statement);
    const { storageFailure } = answer;
    if (storageFailure?.fatal) this.#onFatal(fromStorageFailure(storageFailure));
    return answer;
  }

  /** Undoes the statements since the last group. Has no answer. */
  rollbackReservation(): void {
    this.#releases += 1;
    this.#process?.rollbackReservation();
  }

  /** The thread answers what it was asked and closes the file; then the process opens it. */
  #startProcess(): WriterProcess {
    if (this.#process !== undefined) return this.#process;
    this.#process = new WriterProcess({
      ...this.#options,
      epoch: this.#epoch,
      ports: this.#ports,
      handOver: this.#thread.close(),
      onFatal: (error) => this.#onFatal(error),
    });
    this.#applier = this.#process;
    return this.#process;
  }

  /** Resolves when every group that was sent is answered. */
  async #drain(): Promise<void> {
    while (this.#fatal === undefined && this.#queue.length + this.#written.length > 0)
      await new Promise<void>((resume) => this.#ports.timers.nextTurn(resume));
  }

  get redoPaths(): string[] {
    const { path } = this.#options;
    return [lockPath(path), ...this.#log.segmentNumbers.map((number) => segmentPath(path, number))];
  }

  /** CPU time of the applier so far, microseconds. */
  get cpuUs(): number {
    return this.#thread.cpuUs + (this.#process?.cpuUs ?? 0);
  }

  /** Milliseconds since the writer last answered while an answer is due; far longer than a sync, and the writer hangs. */
  get silentMs(): number {
    return Math.max(this.#thread.silentMs, this.#process?.silentMs ?? 0, this.#syncs.silentMs);
  }

  /** Resolves when the file is closed. Groups sent before are written first. */
  async close(): Promise<void> {
    try {
      await this.#drain();
      // What cannot be applied now, on a full disk for example, stays in the log for the next opening.
      await this.#whenAllApplied().catch(() => undefined);
      this.#applyTimer?.cancel();
      await this.#applier.close();
      await this.#syncs.close();
      this.#log.close();
      this.#acknowledged.close();
    } finally {
      this.#closed = true;
      this.#lock.release();
    }
  }
}

const toInstanceError = (error: unknown): QueueError =>
  error instanceof QueueError ? error : new QueueError('INSTANCE_FAILED', { cause: error });

/** A full disk or quota leaves the log as it was; after anything else its content is unknown. */
function toLogFailure(error: unknown, path: string): StorageFailure {
  const { code, message } = error as NodeJS.ErrnoException;
  const isFull = isNoSpace(error);
  return {
    code: isFull ? 'STORAGE_FULL' : 'STORAGE_FAILED',
    message: isFull ? new QueueError('STORAGE_FULL').message : `The redo log cannot be written: ${message}`,
    details: { path, system: code },
    fatal: !isFull,
  };
}
