/**
 * Messages handed out under a timed hold, by hold number. A hold ends by being finished, released or by its time; a
 * receipt whose hold has ended finds nothing here, so it can change nothing (invariant 7).
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { QueueRow } from '../storage/catalog.ts';

export interface TimedHold<D> {
  readonly queue: QueueRow;
  readonly delivery: D;
  readonly receipt: string;
  /** On the monotonic clock, so that a change of the wall clock ends no hold. */
  expiresAt: number;
  /** Part of an open transaction: it neither expires nor can be finished twice. */
  staged: boolean;
}

/** `D` is what a kind of queue needs to know of a hand-out. */
export class TimedHolds<D> {
  readonly #byReceipt = new Map<string, TimedHold<D>>();
  readonly #onExpired: (holds: TimedHold<D>[]) => void;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(onExpired: (holds: TimedHold<D>[]) => void) {
    this.#onExpired = onExpired;
  }

  /** How many more may be held; throws `HOLDS_FULL` if none. */
  assertRoom(): number {
    const room = limits.holdsMax - this.#byReceipt.size;
    if (room <= 0) throw new QueueError('HOLDS_FULL', { details: { holdsMax: limits.holdsMax } });
    return room;
  }

  add(hold: Omit<TimedHold<D>, 'expiresAt' | 'staged'>, holdMs: number): void {
    const expiresAt = performance.now() + holdMs;
    this.#byReceipt.set(hold.receipt, { ...hold, expiresAt, staged: false });
    this.#arm(expiresAt);
  }

  /** The holds of all receipts; throws `RECEIPT_STALE` naming those that hold nothing, or are staged or named twice. */
  find(queue: QueueRow, receipts: readonly string[]): TimedHold<D>[] {
    const seen = new Set<string>();
    const stale: string[] = [];
    const holds: TimedHold<D>[] = [];
    for (const receipt of receipts) {
      const hold = this.#byReceipt.get(receipt);
      if (hold === undefined || hold.staged || hold.queue.queueId !== queue.queueId || seen.has(receipt)) {
        stale.push(receipt);
      } else holds.push(hold);
      seen.add(receipt);
    }
    if (stale.length > 0) throw new QueueError('RECEIPT_STALE', { details: { receipts: stale } });
    return holds;
  }

  extend(hold: TimedHold<D>, holdMs: number): void {
    hold.expiresAt = performance.now() + holdMs;
    this.#arm(hold.expiresAt);
  }

  /** Out of a transaction that was rolled back: the hold counts again, or expires now if its time is over. */
  unstage(hold: TimedHold<D>): void {
    hold.staged = false;
    this.#arm(hold.expiresAt);
  }

  end(hold: TimedHold<D>): void {
    this.#byReceipt.delete(hold.receipt);
  }

  /** Those that end by their time, and when that is, epoch ms. */
  *running(): Generator<{ delivery: D; untilMs: number }> {
    const epochMs = Date.now() - performance.now();
    for (const { delivery, expiresAt, staged } of this.#byReceipt.values()) {
      if (!staged) yield { delivery, untilMs: Math.round(epochMs + expiresAt) };
    }
  }

  /** The queue or the subscriber that they belong to is gone. */
  endAll(belongs: (hold: TimedHold<D>) => boolean): void {
    for (const hold of this.#byReceipt.values()) if (belongs(hold)) this.end(hold);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#byReceipt.clear();
  }

  #arm(at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const ms = Math.min(Math.max(1, Math.ceil(at - performance.now())), 2 ** 30);
    this.#timer = setTimeout(() => this.#sweep(), ms).unref();
  }

  #sweep(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    const expired: TimedHold<D>[] = [];
    for (const hold of this.#byReceipt.values()) {
      if (hold.staged) continue;
      if (hold.expiresAt > now) next = Math.min(next, hold.expiresAt);
      else {
        this.end(hold);
        expired.push(hold);
      }
    }
    if (next !== Number.POSITIVE_INFINITY) this.#arm(next);
    if (expired.length > 0) this.#onExpired(expired);
  }
}
