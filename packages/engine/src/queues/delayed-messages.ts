/**
 * Messages that are not due yet. They are rows of a table in the instance's file; in memory are only their number and the
 * time when the next one is due. A due message is appended to its log in the same commit that deletes its row.
 */

import type { GroupCommit } from '../commit/group-commit.ts';
import type { Slab } from '../commit/staged-transaction.ts';
import { newStagedRun, type StagedRun, stageRecord } from '../commit/staged-transaction.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { DelayedRow, DueMessages } from '../model/delayed-message.ts';
import { delayedLogId } from '../model/log-id.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import { StagedPayloads } from './payloads/staged-payloads.ts';

/** Longest wait before the wall clock is read again, since it can be set. */
const waitMsMax = 60_000;
/** Pause after a failed read or commit. */
const retryMs = 1_000;

export interface DelayedMessagesOptions {
  groupCommit: GroupCommit;
  slab: Slab;
  payloads: PayloadStore;
  ports: Pick<Ports, 'clock' | 'timers'>;
  /** By queue, when the file was opened. */
  counts: ReadonlyMap<number, number>;
  nextDueAtMs: number | null;
  /** Ids of new messages count from here, so that none repeats one of an earlier opening. */
  firstId: number;
  readDue(nowMs: number): Promise<DueMessages>;
  /** Undefined if its queue was dropped. */
  logOf(queueId: number, shard: number): MessageLog | undefined;
}

export class DelayedMessages {
  readonly #options: DelayedMessagesOptions;
  readonly #counts: Map<number, number>;
  #lastId: number;
  #timer: Timer | undefined;
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
  }

  /** The id of a new delayed message, unique in the instance. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  countOf(queueId: number): number {
    return this.#counts.get(queueId) ?? 0;
  }

  get total(): number {
    let total = 0;
    for (const count of this.#counts.values()) total += count;
    return total;
  }

  /** The commit that inserted the rows is durable. */
  add(rows: readonly DelayedRow[]): void {
    for (const { queueId, dueAtMs } of rows) {
      this.#counts.set(queueId, this.countOf(queueId) + 1);
      this.#scheduleAt(dueAtMs);
    }
  }

  /** The queue was dropped; its rows are deleted with it. */
  removeQueue(queueId: number): void {
    this.#counts.delete(queueId);
  }

  #scheduleAt(atMs: number): void {
    if (this.#closed || atMs >= this.#timerAtMs) return;
    const { clock, timers } = this.#options.ports;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    const ms = Math.min(Math.max(0, atMs - clock.epochMs()), waitMsMax);
    this.#timer = timers.after(ms, () => this.#onTimer());
  }

  #onTimer(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    if (this.#moving !== undefined) {
      this.#dueMeanwhile = true;
      return;
    }
    const { clock } = this.#options.ports;
    this.#moving = this.#moveDue()
      .catch(() => clock.epochMs() + retryMs)
      .then((nextAtMs) => {
        this.#moving = undefined;
        const again = this.#dueMeanwhile;
        this.#dueMeanwhile = false;
        if (again) this.#scheduleAt(clock.epochMs());
        else if (nextAtMs !== null) this.#scheduleAt(nextAtMs);
      });
  }

  /** Moves all due messages to their logs. Returns when the next one is due; null if there is none. */
  async #moveDue(): Promise<number | null> {
    const { groupCommit, slab, payloads, ports, logOf, readDue } = this.#options;
    for (;;) {
      const { rows, nextDueAtMs } = await readDue(ports.clock.epochMs());
      if (rows.length === 0 || this.#closed) return nextDueAtMs;
      const runs = new Map<MessageLog, StagedRun>();
      const staged = new StagedPayloads(payloads);
      for (const { queueId, shard, delayedId, record } of rows) {
        const log = logOf(queueId, shard);
        if (log === undefined) continue; // dropped: only the row is deleted
        const run = runs.get(log) ?? newStagedRun(log);
        runs.set(log, run);
        const use = payloads.references.find(queueId, delayedLogId(shard), delayedId);
        if (use !== undefined) {
          staged.removeFromMessage(use);
          staged.addForNextMessage(run, use);
        }
        stageRecord(slab, run, record);
      }
      const bytes = rows.reduce((sum, { record }) => sum + record.byteLength, 0);
      const onClose = () => rows.map((message) => ({ kind: 'delete delayed', message }) as const);
      await groupCommit.write({ sync: 'FULL', runs: [...runs.values()], bytes, onClose, ...staged.hooks });
      for (const { queueId } of rows) this.#counts.set(queueId, Math.max(0, this.countOf(queueId) - 1));
    }
  }

  /** Resolves when the move in progress, if any, has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#moving;
  }
}
