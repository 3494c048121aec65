/** Received messages: held by time, and finished by a receipt from any session of this store. */
import { randomBytes } from 'node:crypto';
import { QueueError } from '@shardlab/engine';
import type { Deliveries, Delivery } from './deliveries.ts';

interface TimedHold {
  delivery: Delivery;
  expiresAtMs: number;
  timer: NodeJS.Timeout | undefined;
}

export interface TakenHolds {
  deliveries: Delivery[];
  /** The commit failed: the holds last for what is left of their time, and their receipts are valid again. */
  restore(): void;
}

export class TimedHolds {
  readonly #deliveries: Deliveries;
  readonly #held = new Map<string, TimedHold>();

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
  }

  /** Returns the receipt. */
  add(delivery: Delivery, holdMs: number): string {
    const receipt = randomBytes(16).toString('hex');
    const held: TimedHold = { delivery, expiresAtMs: 0, timer: undefined };
    this.#held.set(receipt, held);
    this.#start(receipt, held, holdMs);
    return receipt;
  }

  #start(receipt: string, held: TimedHold, holdMs: number): void {
    clearTimeout(held.timer);
    held.expiresAtMs = performance.now() + holdMs;
    held.timer = setTimeout(() => this.#expire(receipt), holdMs).unref();
  }

  #expire(receipt: string): void {
    const held = this.#held.get(receipt);
    if (held === undefined) return;
    this.#held.delete(receipt);
    // Without an answer the servers return it when its time with them is up.
    this.#deliveries.nack([held.delivery]).catch(() => undefined);
  }

  /** The holds of these receipts. Throws `RECEIPT_STALE` if one has ended, is of another queue or is named twice. */
  get(queue: string, receipts: readonly string[]): Delivery[] {
    if (new Set(receipts).size < receipts.length)
      throw new QueueError('RECEIPT_STALE', { details: { queue } });
    return receipts.map((receipt) => {
      const held = this.#held.get(receipt);
      if (held?.delivery.queue !== queue || !this.#deliveries.holds.isValid(held.delivery.hold)) {
        throw new QueueError('RECEIPT_STALE', { details: { queue, receipt } });
      }
      return held.delivery;
    });
  }

  /** Ends the holds without returning the messages: a commit consumes them. Throws as `get`. */
  take(queue: string, receipts: readonly string[]): TakenHolds {
    const deliveries = this.get(queue, receipts);
    const taken = receipts.map((receipt) => [receipt, this.#held.get(receipt)!] as const);
    for (const [receipt, held] of taken) {
      clearTimeout(held.timer);
      this.#held.delete(receipt);
    }
    const restore = () => {
      for (const [receipt, held] of taken) {
        this.#held.set(receipt, held);
        this.#start(receipt, held, Math.max(0, held.expiresAtMs - performance.now()));
      }
    };
    return { deliveries, restore };
  }

  /** Throws as `get`; then no hold is extended. */
  extend(queue: string, receipts: readonly string[], holdMs: number): void {
    this.get(queue, receipts);
    for (const receipt of receipts) this.#start(receipt, this.#held.get(receipt)!, holdMs);
  }

  /** Returns all messages. */
  async close(): Promise<void> {
    const all = [...this.#held.values()];
    for (const { timer } of all) clearTimeout(timer);
    this.#held.clear();
    await this.#deliveries.nack(all.map(({ delivery }) => delivery)).catch(() => undefined);
  }
}
