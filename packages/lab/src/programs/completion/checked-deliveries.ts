/** Checks every delivery of a trial, and resolves when a number of messages has been consumed. */

import type { Book } from '../../integrity/book.ts';
import type { Interval } from '../../integrity/delivery-spans.ts';
import { Ledger, type OrderCheck } from '../../integrity/ledger.ts';
import type { PayloadCodec } from '../../integrity/payload.ts';
import type { Delivery, DeliverySink } from '../../systems/driver/driver.ts';
import { type ConsumerOrder, consumerOrders } from '../consumer-orders.ts';

const pollMs = 50;

export class CheckedDeliveries implements DeliverySink {
  readonly ledger: Ledger;
  /** Deliveries whose consumption was acknowledged, damaged and repeated ones included. */
  count = 0;
  /** Order checks by consumer. */
  readonly #orders: readonly OrderCheck[];
  /** Of a process that is killed. */
  readonly #book: Book | null;
  #awaited: { count: number; reached: (atMs: number) => void } | null = null;

  constructor(codec: PayloadCodec, consumers: number, order: ConsumerOrder, book: Book | null = null) {
    this.#book = book;
    this.ledger = new Ledger(codec, { isShared: order === 'queue' });
    this.#orders = consumerOrders({ order, consumers });
  }

  delivered(payload: Buffer, consumer: number, deliveryCount = 1, call?: Interval): Delivery {
    const delivery = this.ledger.recordDelivery({ payload, deliveryCount }, this.#orders[consumer]!, call);
    if (delivery !== null) this.#book?.consuming(0, consumer, [delivery]);
    return delivery;
  }

  redelivered(deliveries: readonly Delivery[]): void {
    this.ledger.checkRedelivered(deliveries.filter((delivery) => delivery !== null));
  }

  consumed(deliveries: readonly Delivery[], consumer: number): void {
    this.#book?.consumed(0, consumer);
    for (const delivery of deliveries) if (delivery !== null) this.ledger.recordConsumed(delivery);
    this.count += deliveries.length;
    if (this.#awaited !== null && this.count >= this.#awaited.count) {
      this.#awaited.reached(performance.now());
      this.#awaited = null;
    }
  }

  /**
   * Resolves with the time, by `performance.now`, at which `count` messages had been consumed since the start; with null if
   * nothing was consumed for `idleMs` before that.
   */
  async whenConsumed(count: number, idleMs: number): Promise<number | null> {
    if (this.count >= count) return performance.now();
    const result = Promise.withResolvers<number | null>();
    this.#awaited = { count, reached: result.resolve };
    let [seen, sinceMs] = [this.count, performance.now()];
    const watch = setInterval(() => {
      if (this.count !== seen) [seen, sinceMs] = [this.count, performance.now()];
      else if (performance.now() - sinceMs > idleMs) result.resolve(null);
    }, pollMs);
    try {
      return await result.promise;
    } finally {
      clearInterval(watch);
      this.#awaited = null;
    }
  }
}
