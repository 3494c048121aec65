/**
 * Messages that are not due yet. They are rows of a table in the instance's file; in memory are only their number and the
 * time when the next one is due. A due message is appended to its log in the same commit that deletes its row. Times are of
 * `model/delay-clock.ts`, so that setting the wall clock changes no delay.
 */
import type { GroupCommit } from '../commit/group-commit.ts';
import type { Slab } from '../commit/staged-transaction.ts';
import { newStagedRun, type StagedRun, stageRecord } from '../commit/staged-transaction.ts';
import type { MessageLog } from '../log/message-log.ts';
import { type DelayClock, recordedEveryMs } from '../model/delay-clock.ts';
import type { DelayedRow, DueMessages } from '../model/delayed-message.ts';
import type { LogId, QueueId, Seq, SessionNumber } from '../model/ids.ts';
import { InvariantViolation } from '../model/invariant.ts';
import { delayedLogId } from '../model/log-id.ts';
import { type RecordContent, writeRecord } from '../model/message-record.ts';
import type { Timer, Timers } from '../model/ports.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import { StagedPayloads } from './payloads/staged-payloads.ts';

/** The longest delay that a timer accepts. */
const timerMsMax = 2 ** 31 - 1;
/** Pause after a failed read or commit. */
const retryMs = 1_000;

export interface DelayedMessagesOptions {
  groupCommit: GroupCommit;
  slab: Slab;
  payloads: PayloadStore;
  delayClock: DelayClock;
  timers: Timers;
  /** Delayed messages by queue when the file was opened. */
  counts: ReadonlyMap<QueueId, number>;
  nextDueAtMs: number | null;
  /** Ids of new messages count from here, so that none repeats one of an earlier opening. */
  firstId: Seq;
  readDue(nowMs: number): Promise<DueMessages>;
  /** Undefined if its queue was dropped. */
  logOf(queueId: QueueId, logId: LogId): MessageLog | undefined;
}

export class DelayedMessages {
  /** Called with the record of a message that is due, once it is in its log and durable. */
  readonly dueListeners = new Set<(queueId: QueueId, record: Uint8Array) => void>();
  readonly #options: DelayedMessagesOptions;
  readonly #counts: Map<QueueId, number>;
  #lastId: Seq;
  #timer: Timer | undefined;
  #momentTimer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #moving: Promise<void> | undefined;
  /** A message became due while others were moved, maybe after the table was read. */
  #dueMeanwhile = false;
  #closed = false;

  constructor(options: DelayedMessagesOptions) {
    this.#options = options;
    this.#counts = new Map(options.counts);
    this.#lastId = options.firstId;
    if (options.nextDueAtMs !== null) this.#scheduleAt(options.nextDueAtMs);
    if (this.total > 0) this.#scheduleMoment();
  }

  /** The row of a new message, which `add` counts once it is durable. `bytesNeeded`: for its record. */
  newRow(
    { id, queueId }: MessageLog,
    message: RecordContent,
    { bytesNeeded, enqueuedAtMs }: { bytesNeeded: number; enqueuedAtMs: number },
  ): DelayedRow {
    this.#lastId += 1;
    const delayedId = this.#lastId;
    const stamp = { enqueuedAtMs, id: `${delayedLogId(id)}.${delayedId}` };
    // not part of a pooled buffer, all of which would be copied to the writer
    const buffer = Buffer.allocUnsafeSlow(bytesNeeded);
    const record = buffer.subarray(0, writeRecord(buffer, 0, message, stamp));
    const dueAtMs = this.#options.delayClock.nowMs() + message.delayMs!;
    return { dueAtMs, delayedId, queueId, shard: id, record };
  }

  countOf(queueId: QueueId): number {
    return this.#counts.get(queueId) ?? 0;
  }

  get total(): number {
    let total = 0;
    for (const count of this.#counts.values()) total += count;
    return total;
  }

  /**
   * The group that inserted the rows, of a session or of a branch (0), is durable. Call it before any caller of the group is
   * resumed: a short delay can be over by then, and the message counted as moved first.
   */
  add(rows: readonly DelayedRow[], session: SessionNumber = 0): void {
    for (const row of rows) {
      const { queueId, shard, dueAtMs } = row;
      this.#counts.set(queueId, this.countOf(queueId) + 1);
      this.#scheduleAt(dueAtMs);
      const untilMs = this.#options.delayClock.epochMsOf(dueAtMs);
      this.#options.logOf(queueId, shard)?.trace?.delayed(row, { session, untilMs });
    }
    if (rows.length > 0) this.#scheduleMoment();
  }

  /** The group that deleted the rows of these messages is durable. */
  #onMoved(rows: readonly DelayedRow[]): void {
    for (const { queueId } of rows) {
      const count = this.#counts.get(queueId);
      if (count === undefined) continue; // dropped meanwhile
      if (count === 0)
        throw new InvariantViolation(`more delayed messages of queue ${queueId} were moved than added`);
      this.#counts.set(queueId, count - 1);
    }
  }

  /** The queue was dropped; its rows are deleted with it. */
  removeQueue(queueId: QueueId): void {
    this.#counts.delete(queueId);
  }

  /**
   * Stores the present moment at intervals while messages are delayed. A write that fails is not repeated: the next one
   * replaces it.
   */
  #scheduleMoment(): void {
    if (this.#closed || this.#momentTimer !== undefined) return;
    this.#momentTimer = this.#options.timers.after(recordedEveryMs, () => {
      this.#momentTimer = undefined;
      if (this.total === 0) return;
      this.#writeMoment().catch(() => undefined);
      this.#scheduleMoment();
    });
  }

  async #writeMoment(): Promise<void> {
    const { groupCommit, delayClock } = this.#options;
    const onClose = () => [{ kind: 'delay moment', moment: delayClock.moment() } as const];
    await groupCommit.write({ sync: 'FULL', background: true, onClose });
  }

  #scheduleAt(atMs: number): void {
    if (this.#closed || atMs >= this.#timerAtMs) return;
    const { delayClock, timers } = this.#options;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    const ms = Math.min(Math.max(0, atMs - delayClock.nowMs()), timerMsMax);
    this.#timer = timers.after(ms, () => this.#onTimer());
  }

  #onTimer(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    if (this.#moving !== undefined) {
      this.#dueMeanwhile = true;
      return;
    }
    const { delayClock } = this.#options;
    this.#moving = this.#moveDue()
      .catch(() => delayClock.nowMs() + retryMs)
      .then((nextAtMs) => {
        this.#moving = undefined;
        const again = this.#dueMeanwhile;
        this.#dueMeanwhile = false;
        if (again) this.#scheduleAt(delayClock.nowMs());
        else if (nextAtMs !== null) this.#scheduleAt(nextAtMs);
      });
  }

  /** Moves all due messages to their logs. Returns when the next one is due; null if there is none. */
  async #moveDue(): Promise<number | null> {
    const { groupCommit, slab, payloads, delayClock, logOf, readDue } = this.#options;
    for (;;) {
      const { rows, nextDueAtMs } = await readDue(delayClock.nowMs());
      if (rows.length === 0 || this.#closed) return nextDueAtMs;
      const runs = new Map<MessageLog, StagedRun>();
      const staged = new StagedPayloads(payloads);
      for (const { queueId, shard, delayedId, record } of rows) {
        const log = logOf(queueId, shard);
        if (log === undefined) continue; // dropped: only the row is deleted
        const run = runs.get(log) ?? newStagedRun(log);
        runs.set(log, run);
        log.trace?.due(delayedId);
        const reference = payloads.references.find(queueId, delayedLogId(shard), delayedId);
        if (reference !== undefined) {
          staged.removeFromMessage(reference);
          staged.addForNextMessage(run, reference);
        }
        stageRecord(slab, run, record);
      }
      const bytes = rows.reduce((sum, { record }) => sum + record.byteLength, 0);
      const onClose = () => rows.map((message) => ({ kind: 'delete delayed', message }) as const);
      const { hooks } = staged;
      await groupCommit.write({
        sync: 'FULL',
        background: true,
        runs: [...runs.values()],
        bytes,
        onClose,
        onNumbered: hooks?.onNumbered,
        onDurable: () => {
          hooks?.onDurable();
          this.#onMoved(rows);
        },
      });
      for (const { queueId, record } of rows)
        for (const listener of this.dueListeners) listener(queueId, record);
    }
  }

  /** Stores the moment. Resolves when the move in progress, if any, has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#momentTimer?.cancel();
    await this.#moving;
    if (this.total > 0) await this.#writeMoment().catch(() => undefined);
  }
}
