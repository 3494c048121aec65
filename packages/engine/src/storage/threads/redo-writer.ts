/**
 * The writer of an instance, on the thread of its sessions: a group is appended to the redo log and synced, then answered. The applier
 * follows and writes it to the tables. From the application's first statement on a process has the file and writes each group to the
 * tables itself: nothing can end a statement but the end of its process. It stays so as long as the instance is open.
 *
 * A group's life: it waits in `#queue` for room in the log, is written, and waits in `#written` for its sync. What was answered is
 * applied when enough has come together, after `applyMsMax`, or when a read waits for it.
 */
import { QueueError } from '../../api/errors.ts';
import type { AppliedGroups } from '../../model/applied-groups.ts';
import type { EmulatedSync } from '../../model/emulated-sync.ts';
import type { Group, GroupResult, StatementAnswer, WriterState } from '../../model/group-message.ts';
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
import { ApplierThread, TransientFailure } from './applier-thread.ts';
import { LogSyncs } from './log-syncs.ts';
import { WriterProcess } from './writer-process-client.ts';

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
  onApplied(groups: AppliedGroups): void;
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
  sentAtMs: number;
}

export class RedoWriter {
  readonly #options: WriterOptions;
  readonly #ports: WriterPorts;
  readonly #lock: FolderLock;
  readonly #applier: ApplierThread;
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
  #durableThrough: GroupNumber;
  #appliedThrough: GroupNumber;
  /** Bytes of the log when the last apply was asked for. */
  #bytesAtApply = 0;
  #applying: Promise<void> | undefined;
  #applyTimer: Timer | undefined;
  /** Why there is no room in the log, for the group that waits for it. */
  #refusal: StorageFailure | undefined;
  #applyWaits: { through: GroupNumber; resolve(): void; reject(error: QueueError): void }[] = [];
  #growing = false;
  /** Has the file from the application's first statement on. */
  #process: WriterProcess | undefined;
  #handedOver: Promise<WriterState> | undefined;
  #closing = false;
  #closed = false;

  private constructor(
    options: WriterOptions,
    ports: WriterPorts,
    lock: FolderLock,
    applier: ApplierThread,
    { epoch, redo }: RecoveredInstance,
  ) {
    this.#options = options;
    this.#ports = ports;
    this.#lock = lock;
    this.#applier = applier;
    this.#epoch = epoch;
    const { logId, turn: lastTurn, end } = redo;
    const segments = redo.segments.map((row) => openSegment(options.path, row));
    this.#log = new RedoLog({ logId, segments, lastTurn, end });
    this.#syncs = new LogSyncs(this.#log, options.emulatedSync, ports.clock);
    this.#acknowledged = new AcknowledgedNumberFile(acknowledgedNumberPath(options.path));
    this.#durableThrough = end.group;
    this.#appliedThrough = end.group;
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
    if (this.#process !== undefined || group.sqlTransactions.length > 0) {
      this.#processWriter().send(group);
      return;
    }
    this.#queue.push({ group, sentAtMs: this.#ports.clock.monotonicMs() });
    this.#advance();
  }

  /** Writes what waits, as far as there is room, and syncs it. */
  #advance(): void {
    while (this.#queue.length > 0 && this.#fatal === undefined) {
      const next = this.#queue[0]!;
      const outcome = this.#write(next.group);
      if (outcome === 'no room') break;
      this.#queue.shift();
      if (outcome === 'written') this.#written.push(next);
      else this.#answer(next, outcome);
    }
    this.#sync();
  }

  /** Groups behind a failed one fail too, up to the first that was built after the failure. */
  #write(group: Group): 'written' | 'no room' | StorageFailure {
    const { generation, failure } = this.#state;
    if (failure !== null && (failure.fatal || group.generation === generation)) return failure;
    try {
      const isWritten = this.#log.append({
        group: group.groupNumber,
        requiresApplied: 0,
        isDurable: group.sync === 'FULL',
        content: group,
      });
      if (isWritten) return 'written';
    } catch (error) {
      return toLogFailure(error, this.#options.path);
    }
    const refusal = this.#refusal;
    if (refusal === undefined) this.#makeRoom(group);
    else if (this.#written.length === 0) {
      this.#refusal = undefined;
      return refusal;
    }
    return 'no room';
  }

  /** The applier frees segments, or adds one if it may. */
  #makeRoom(group: Group): void {
    this.#requestApply();
    const needed = RedoLog.segmentBytesFor(group);
    const isTooSmall = !this.#log.fits(needed);
    if (this.#growing || (this.#log.bytes >= redoBytesMax && !isTooSmall)) return;
    this.#growing = true;
    this.#applier.addSegment(Math.max(segmentBytes, needed)).then(
      (row) => {
        this.#growing = false;
        this.#log.add(openSegment(this.#options.path, row));
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
      return;
    }
    const count = this.#written.length;
    this.#syncing = true;
    this.#syncs.sync(
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
    for (const each of this.#written.splice(0, count)) this.#answer(each, null);
  }

  #answer({ group, sentAtMs }: WrittenGroup, failure: StorageFailure | null): void {
    const { groupNumber, generation, sync } = group;
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
      failure,
      appliedThrough: 0,
      unusablePartitions: [],
      sqlOutcomes: [],
      maintenanceMs: 0,
      commitMs: this.#ports.clock.monotonicMs() - sentAtMs,
      cpuUs: this.#applier.cpuUs,
    });
  }

  #applySoon(): void {
    if (this.#applying !== undefined) return;
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

  #onApplied({ through, unusablePartitions }: AppliedGroups): void {
    this.#refusal = undefined;
    this.#appliedThrough = through;
    this.#log.onApplied(through);
    this.#listener?.onApplied({ through, unusablePartitions });
    for (const wait of this.#applyWaits) if (wait.through <= through) wait.resolve();
    this.#applyWaits = this.#applyWaits.filter((wait) => wait.through > through);
    if (this.#applyWaits.length > 0) this.#requestApply();
    else if (this.#appliedThrough < this.#durableThrough) this.#applySoon();
    this.#advance();
  }

  #onApplierFailed(error: unknown): void {
    if (!(error instanceof TransientFailure)) {
      this.#onFatal(
        error instanceof QueueError ? error : new QueueError('INSTANCE_FAILED', { cause: error }),
      );
      return;
    }
    if (this.#queue.length > 0) this.#refusal = error.failure;
    for (const wait of this.#applyWaits.splice(0)) wait.reject(fromStorageFailure(error.failure));
    this.#applyTimer ??= this.#ports.timers.after(applyRetryMs, () => this.#requestApply());
    this.#advance();
  }

  whenApplied(through: GroupNumber): Promise<void> {
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
  executeStatement(statement: SqlStatement): Promise<StatementAnswer> {
    if (this.#fatal !== undefined) return Promise.reject(this.#fatal);
    return this.#processWriter().executeStatement(statement);
  }

  /** Undoes the statements since the last group. Has no answer. */
  rollbackReservation(): void {
    this.#process?.rollbackReservation();
  }

  #processWriter(): WriterProcess {
    if (this.#process !== undefined) return this.#process;
    this.#handedOver = this.#handOver();
    this.#process = new WriterProcess({
      ...this.#options,
      epoch: this.#epoch,
      ports: this.#ports,
      handOver: this.#handedOver,
      onResult: (result) => this.#listener?.onResult(result),
      onFatal: (error) => this.#onFatal(error),
    });
    return this.#process;
  }

  /** Has the applier apply everything and close the file. Resolves with how the last group of the log ended. */
  async #handOver(): Promise<WriterState> {
    await this.#drain();
    // The process would write behind what the tables lack: on a full disk the hand-over waits.
    while (this.#fatal === undefined && this.#appliedThrough < this.#durableThrough) {
      await this.whenApplied(this.#durableThrough).catch((error: unknown) => {
        if (this.#closing) throw error;
        return new Promise<void>((resume) => this.#ports.timers.after(applyRetryMs, resume));
      });
    }
    await this.#closeFiles();
    if (this.#fatal !== undefined) throw this.#fatal;
    return this.#state;
  }

  /** Resolves when every group that was sent is answered. */
  async #drain(): Promise<void> {
    while (this.#fatal === undefined && this.#queue.length + this.#written.length > 0)
      await new Promise<void>((resume) => this.#ports.timers.nextTurn(resume));
  }

  async #closeFiles(): Promise<void> {
    this.#applyTimer?.cancel();
    await this.#applier.close();
    await this.#syncs.close();
    this.#log.close();
    this.#acknowledged.close();
  }

  get redoPaths(): string[] {
    const { path } = this.#options;
    if (this.#process !== undefined) return [lockPath(path)];
    return [lockPath(path), ...this.#log.segmentNumbers.map((number) => segmentPath(path, number))];
  }

  /** CPU time of the applier so far, microseconds. */
  get cpuUs(): number {
    return this.#applier.cpuUs + (this.#process?.cpuUs ?? 0);
  }

  /** Milliseconds since the writer last answered while an answer is due; far longer than a sync, and the writer hangs. */
  get silentMs(): number {
    return Math.max(this.#applier.silentMs, this.#syncs.silentMs, this.#process?.silentMs ?? 0);
  }

  /** Resolves when the file is closed. Groups sent before are written first. */
  async close(): Promise<void> {
    this.#closing = true;
    try {
      if (this.#process === undefined) {
        await this.#drain();
        // What cannot be applied now, on a full disk for example, stays in the log for the next opening.
        await this.whenApplied(this.#durableThrough).catch(() => undefined);
        await this.#closeFiles();
      } else {
        await Promise.allSettled([this.#handedOver]);
        await this.#process.close();
      }
    } finally {
      this.#closed = true;
      this.#lock.release();
    }
  }
}

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
