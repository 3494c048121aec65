/**
 * Messages delivered under a timed hold, by receipt. A hold ends when it is acknowledged, released or expires. The receipt
 * of a hold that has ended finds nothing, so it can change nothing (invariant 7).
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';

export interface TimedHold<D> {
  readonly queue: QueueRow;
  readonly delivery: D;
  readonly receipt: string;
  /** On the monotonic clock, so that setting the wall clock ends no hold. */
  expiresAtMs: number;
  /** Acknowledged in an open transaction: it does not expire, and cannot be acknowledged twice. */
  staged: boolean;
}

/** `D` is how a kind of queue describes a delivery. */
export class TimedHolds<D> {
  readonly #byReceipt = new Map<string, TimedHold<D>>();
  readonly #onExpired: (holds: TimedHold<D>[]) => void;
  readonly #ports: Pick<Ports, 'clock' | 'timers'>;
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(ports: Pick<Ports, 'clock' | 'timers'>, onExpired: (holds: TimedHold<D>[]) => void) {
    this.#ports = ports;
    this.#onExpired = onExpired;
  }

  /** How many more messages can be held; throws `HOLDS_FULL` if none. */
  assertCapacity(): number {
    const capacity = limits.holdsMax - this.#byReceipt.size;
    if (capacity <= 0) throw new QueueError('HOLDS_FULL', { details: { holdsMax: limits.holdsMax } });
    return capacity;
  }

  add(hold: Omit<TimedHold<D>, 'expiresAtMs' | 'staged'>, holdMs: number): void {
    const expiresAtMs = this.#ports.clock.monotonicMs() + holdMs;
    this.#byReceipt.set(hold.receipt, { ...hold, expiresAtMs, staged: false });
    this.#scheduleAt(expiresAtMs);
  }

  /** The holds of all receipts. Throws `RECEIPT_STALE` with the receipts that have no hold, are staged, or are named twice. */
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
    hold.expiresAtMs = this.#ports.clock.monotonicMs() + holdMs;
    this.#scheduleAt(hold.expiresAtMs);
  }

  /** The transaction that acknowledged it was rolled back: the hold continues, or expires at once if its time has passed. */
  unstage(hold: TimedHold<D>): void {
    hold.staged = false;
    this.#scheduleAt(hold.expiresAtMs);
  }

  end(hold: TimedHold<D>): void {
    this.#byReceipt.delete(hold.receipt);
  }

  /** Holds that can expire, and when, in epoch milliseconds. */
  *expiring(): Generator<{ delivery: D; untilMs: number }> {
    const { clock } = this.#ports;
    const epochOriginMs = clock.epochMs() - clock.monotonicMs();
    for (const { delivery, expiresAtMs, staged } of this.#byReceipt.values()) {
      if (!staged) yield { delivery, untilMs: Math.round(epochOriginMs + expiresAtMs) };
    }
  }

  /** Ends the holds of a queue or a subscriber that is gone. */
  endWhere(belongs: (hold: TimedHold<D>) => boolean): void {
    for (const hold of this.#byReceipt.values()) if (belongs(hold)) this.end(hold);
  }

  close(): void {
    this.#timer?.cancel();
    this.#byReceipt.clear();
  }

  #scheduleAt(atMs: number): void {
    if (atMs >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    const { clock, timers } = this.#ports;
    const ms = Math.min(Math.max(1, Math.ceil(atMs - clock.monotonicMs())), 2 ** 30);
    this.#timer = timers.after(ms, () => this.#expireDue());
  }

  #expireDue(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#ports.clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    const expired: TimedHold<D>[] = [];
    for (const hold of this.#byReceipt.values()) {
      if (hold.staged) continue;
      if (hold.expiresAtMs > nowMs) nextMs = Math.min(nextMs, hold.expiresAtMs);
      else {
        this.end(hold);
        expired.push(hold);
      }
    }
    if (nextMs !== Number.POSITIVE_INFINITY) this.#scheduleAt(nextMs);
    if (expired.length > 0) this.#onExpired(expired);
  }
}
