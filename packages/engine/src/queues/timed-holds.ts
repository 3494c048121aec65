/**
 * Messages delivered under a timed hold, by receipt. A hold ends when it is acknowledged, released or expires. The receipt
 * of a hold that has ended finds nothing, so it can change nothing (invariant 7). Each change of state is looked up in
 * `hold-life.ts`; an illegal one stops the instance.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { Heap } from '../model/heap.ts';
import { type HoldCommand, type HoldState, holdLife } from '../model/hold-life.ts';
import { InvariantViolation, stopOn, type ViolationListener } from '../model/invariant.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { ReceiptSource, receiptName, receiptsEqual } from '../model/receipt.ts';

export interface TimedHold<D> {
  readonly queue: QueueRow;
  readonly delivery: D;
  readonly receipt: string;
  /** Expiry on the monotonic clock, so that setting the wall clock ends no hold. */
  expiresAtMs: number;
  /** Only `TimedHolds` changes it, through the table of `hold-life.ts`. */
  state: HoldState;
  /** Its index among those that can expire; -1 if it cannot. */
  expiryIndex: number;
}

export interface TimedHoldsOptions<D> {
  ports: Ports;
  /** The holds have expired: their messages must be returned. */
  onExpired(holds: TimedHold<D>[]): void;
  /** Stops the instance. */
  onInvariantBroken: ViolationListener;
}

/** `D` is how a kind of queue describes a delivery. */
export class TimedHolds<D> {
  /** Holds by the delivery name in their receipts. */
  readonly #byName = new Map<string, TimedHold<D>>();
  /** Those that can expire, which excludes the ones that a transaction has staged. */
  readonly #byExpiry = new Heap<TimedHold<D>>(
    (a, b) => a.expiresAtMs < b.expiresAtMs,
    (hold, index) => {
      hold.expiryIndex = index;
    },
  );
  readonly #options: TimedHoldsOptions<D>;
  readonly #receipts: ReceiptSource;
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(options: TimedHoldsOptions<D>) {
    this.#options = options;
    this.#receipts = new ReceiptSource(options.ports.random);
  }

  /** Every change of a hold's state goes through here. */
  #apply(hold: TimedHold<D>, command: HoldCommand): void {
    const next = holdLife.find(hold.state, command);
    if (next === undefined)
      stopOn(
        new InvariantViolation(`the hold of receipt ${hold.receipt} is ${hold.state} and cannot ${command}`),
        this.#options.onInvariantBroken,
      );
    hold.state = next;
  }

  #end(hold: TimedHold<D>, command: HoldCommand): void {
    this.#apply(hold, command);
    this.#byName.delete(receiptName(hold.receipt));
    if (hold.expiryIndex >= 0) this.#byExpiry.removeAt(hold.expiryIndex);
  }

  /** How many more messages can be held; throws `HOLDS_FULL` if none. */
  assertCapacity(): number {
    const capacity = limits.holdsMax - this.#byName.size;
    if (capacity <= 0) throw new QueueError('HOLDS_FULL', { details: { holdsMax: limits.holdsMax } });
    return capacity;
  }

  /** Returns the receipt. `name` was given to no other delivery since the instance opened. */
  add({ queue, delivery, name }: { queue: QueueRow; delivery: D; name: string }, holdMs: number): string {
    const expiresAtMs = this.#options.ports.clock.monotonicMs() + holdMs;
    const receipt = this.#receipts.next(name);
    const hold: TimedHold<D> = { queue, delivery, receipt, expiresAtMs, state: 'held', expiryIndex: -1 };
    this.#byName.set(name, hold);
    this.#byExpiry.add(hold);
    this.#scheduleAt(expiresAtMs);
    return receipt;
  }

  /** The holds of all receipts. Throws `RECEIPT_STALE` with the receipts that have no hold, are staged, or are named twice. */
  find(queue: QueueRow, receipts: readonly string[]): TimedHold<D>[] {
    const seen = new Set<TimedHold<D>>();
    const stale: string[] = [];
    const holds: TimedHold<D>[] = [];
    for (const receipt of receipts) {
      const hold = this.#byName.get(receiptName(receipt));
      if (
        hold?.state !== 'held' ||
        hold.queue.queueId !== queue.queueId ||
        seen.has(hold) ||
        !receiptsEqual(receipt, hold.receipt)
      ) {
        stale.push(receipt);
      } else {
        holds.push(hold);
        seen.add(hold);
      }
    }
    if (stale.length > 0) throw new QueueError('RECEIPT_STALE', { details: { receipts: stale } });
    return holds;
  }

  /** Restarts its time. */
  extend(hold: TimedHold<D>, holdMs: number): void {
    this.#apply(hold, 'extend');
    hold.expiresAtMs = this.#options.ports.clock.monotonicMs() + holdMs;
    this.#byExpiry.reorderAt(hold.expiryIndex);
    this.#scheduleAt(hold.expiresAtMs);
  }

  /** Ends the hold because its message is being returned: the receipt is stale from now on. */
  release(hold: TimedHold<D>): void {
    this.#end(hold, 'release');
  }

  /** A transaction acknowledges the hold; call `settle` or `unstage` when the transaction ends. */
  stage(hold: TimedHold<D>): void {
    this.#apply(hold, 'stage');
    if (hold.expiryIndex >= 0) this.#byExpiry.removeAt(hold.expiryIndex);
  }

  /** The transaction was rolled back: the hold continues, or expires at once if its time has passed. */
  unstage(hold: TimedHold<D>): void {
    this.#apply(hold, 'unstage');
    if (hold.state !== 'held') return;
    this.#byExpiry.add(hold);
    this.#scheduleAt(hold.expiresAtMs);
  }

  /** The transaction is durable. */
  settle(hold: TimedHold<D>): void {
    this.#end(hold, 'settle');
  }

  /** Holds that can expire, and when, in epoch milliseconds. */
  *expiring(): Generator<{ delivery: D; untilMs: number }> {
    const { clock } = this.#options.ports;
    const epochOriginMs = clock.epochMs() - clock.monotonicMs();
    for (const { delivery, expiresAtMs, state } of this.#byName.values()) {
      if (state === 'held') yield { delivery, untilMs: Math.round(epochOriginMs + expiresAtMs) };
    }
  }

  /** Ends the holds of a queue or a subscriber that is gone; those in a transaction end with it. */
  dropWhere(belongs: (hold: TimedHold<D>) => boolean): void {
    for (const hold of this.#byName.values()) if (belongs(hold)) this.#end(hold, 'drop');
  }

  close(): void {
    this.#timer?.cancel();
    this.dropWhere(() => true);
  }

  #scheduleAt(atMs: number): void {
    if (atMs >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    const { clock, timers } = this.#options.ports;
    const ms = Math.min(Math.max(1, Math.ceil(atMs - clock.monotonicMs())), 2 ** 30);
    this.#timer = timers.after(ms, () => this.#expireDue());
  }

  #expireDue(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#options.ports.clock.monotonicMs();
    const expired: TimedHold<D>[] = [];
    let first = this.#byExpiry.first;
    for (; first !== undefined && first.expiresAtMs <= nowMs; first = this.#byExpiry.first) {
      this.#end(first, 'expire');
      expired.push(first);
    }
    if (first !== undefined) this.#scheduleAt(first.expiresAtMs);
    if (expired.length > 0) this.#options.onExpired(expired);
  }
}
