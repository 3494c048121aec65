/**
 * Messages that are not due yet. They lie in a table of the instance's file; the memory knows how many and when the next
 * one is due. When its time comes a message is appended to its shard, in the commit that removes it from the table.
 */
import { delayedNo } from '../core/shard-number.ts';
import type { DelayedRow, DueMessages } from '../storage/delayed-table.ts';
import type { GroupCommit } from './group-commit.ts';
import type { PayloadStore } from './payload-store.ts';
import type { Shard } from './shard.ts';
import type { Slab } from './slab.ts';
import { StagedPayloads } from './staged-payloads.ts';
import { newRun, type StagedRun, stageRecord } from './staged-transaction.ts';

/** The wall clock may be set: a wait is cut into pieces of this length. */
const waitMsMax = 60_000;
/** After a failed read or commit. */
const retryMs = 1_000;

export interface DelayedMessagesOptions {
  group: GroupCommit;
  slab: Slab;
  payloads: PayloadStore;
  /** What the file held when it was opened. */
  counts: ReadonlyMap<number, number>;
  nextDueAtMs: number | null;
  readDue(nowMs: number): Promise<DueMessages>;
  /** Undefined if its queue was dropped. */
  shardOf(queueId: number, shard: number): Shard | undefined;
}

export class DelayedMessages {
  readonly #options: DelayedMessagesOptions;
  readonly #counts: Map<number, number>;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #bringing: Promise<void> | undefined;
  /** A message came due while others were brought in, maybe after their last look at the table. */
  #dueMeanwhile = false;
  #closed = false;

  constructor(options: DelayedMessagesOptions) {
    this.#options = options;
    this.#counts = new Map(options.counts);
    if (options.nextDueAtMs !== null) this.#arm(options.nextDueAtMs);
  }

  count(queueId: number): number {
    return this.#counts.get(queueId) ?? 0;
  }

  get total(): number {
    let total = 0;
    for (const count of this.#counts.values()) total += count;
    return total;
  }

  /** Their commit is durable. */
  add(rows: readonly DelayedRow[]): void {
    for (const { queueId, dueAtMs } of rows) {
      this.#counts.set(queueId, this.count(queueId) + 1);
      this.#arm(dueAtMs);
    }
  }

  /** The queue was dropped, and its rows are going with it. */
  forget(queueId: number): void {
    this.#counts.delete(queueId);
  }

  #arm(atMs: number): void {
    if (this.#closed || atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    const ms = Math.min(Math.max(0, atMs - Date.now()), waitMsMax);
    this.#timer = setTimeout(() => this.#wake(), ms).unref();
  }

  #wake(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    if (this.#bringing !== undefined) {
      this.#dueMeanwhile = true;
      return;
    }
    this.#bringing = this.#bringIn()
      .catch(() => Date.now() + retryMs)
      .then((nextAtMs) => {
        this.#bringing = undefined;
        const again = this.#dueMeanwhile;
        this.#dueMeanwhile = false;
        if (again) this.#arm(Date.now());
        else if (nextAtMs !== null) this.#arm(nextAtMs);
      });
  }

  /** Moves all that is due to the shards; returns when the next is. */
  async #bringIn(): Promise<number | null> {
    const { group, slab, payloads, shardOf, readDue } = this.#options;
    for (;;) {
      const { rows, nextDueAtMs } = await readDue(Date.now());
      if (rows.length === 0 || this.#closed) return nextDueAtMs;
      const runs = new Map<Shard, StagedRun>();
      const staged = new StagedPayloads(payloads);
      for (const { queueId, shard: shardNo, no, record } of rows) {
        const shard = shardOf(queueId, shardNo);
        if (shard === undefined) continue; // dropped: only the row goes
        const run = runs.get(shard) ?? newRun(shard);
        runs.set(shard, run);
        const use = payloads.uses.find(queueId, delayedNo(shardNo), no);
        if (use !== undefined) {
          staged.leave(use);
          staged.addNext(run, use);
        }
        stageRecord(slab, run, record);
      }
      const bytes = rows.reduce((sum, { record }) => sum + record.byteLength, 0);
      const side = () => rows.map((message) => ({ kind: 'due', message }) as const);
      await group.submit({ ...nothing(), runs: [...runs.values()], bytes, side, ...staged.hooks });
      for (const { queueId } of rows) this.#counts.set(queueId, Math.max(0, this.count(queueId) - 1));
    }
  }

  /** What is under way is finished. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#bringing;
  }
}

function nothing() {
  return { runs: [], deliveries: [], bytes: 0, sync: 'FULL' as const };
}
