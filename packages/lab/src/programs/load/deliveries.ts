/** Checks every delivery of a process: checksum, order, latency, and that each message arrives exactly once. */

import type { Interval } from '../../integrity/delivery-spans.ts';
import { Ledger, type LedgerReport, type OrderCheck } from '../../integrity/ledger.ts';
import type { PayloadCodec } from '../../integrity/payload.ts';
import type { Clock } from '../../meters/clock.ts';
import { recordMs } from '../../meters/latency.ts';
import type { Delivery, DeliverySink } from '../../systems/driver/driver.ts';
import { consumerOrders } from '../consumer-orders.ts';
import type { LoadJob } from './load-job.ts';
import type { Window } from './window.ts';

export class Deliveries implements DeliverySink {
  /** Deliveries whose consumption was acknowledged, damaged ones included. */
  count = 0;
  lastAtMs = 0;
  /** Ledgers by subscriber; one for a queue. */
  readonly #ledgers: readonly Ledger[];
  /** Order checks by consumer. */
  readonly #orders: readonly OrderCheck[];
  readonly #clock: Clock;
  readonly #window: Window;
  readonly #onConsumed: (deliveries: number) => void;

  constructor(options: {
    job: Pick<LoadJob, 'order' | 'dequeuers'> & { client: Pick<LoadJob['client'], 'subscribers'> };
    codec: PayloadCodec;
    clock: Clock;
    window: Window;
    onConsumed: (deliveries: number) => void;
  }) {
    const { order, dequeuers, client } = options.job;
    const copies = Math.max(1, client.subscribers);
    this.#ledgers = Array.from(
      { length: copies },
      () => new Ledger(options.codec, { isShared: order === 'queue' }),
    );
    // All consumers of a process share an order only if they share the messages.
    const shared = copies > 1 && order === 'process' ? 'consumer' : order;
    this.#orders = consumerOrders({ order: shared, consumers: Math.max(1, dequeuers) });
    this.#clock = options.clock;
    this.#window = options.window;
    this.#onConsumed = options.onConsumed;
  }

  delivered(payload: Buffer, consumer: number, deliveryCount = 1, call?: Interval): Delivery {
    const order = this.#orders[consumer]!;
    const identity = this.#ledgerOf(consumer).recordDelivery({ payload, deliveryCount }, order, call);
    if (identity !== null && this.#window.covers(identity.sentAtMs)) {
      recordMs(this.#window.latency, this.#clock() - identity.sentAtMs);
    }
    return identity;
  }

  redelivered(deliveries: readonly Delivery[], consumer: number): void {
    this.#ledgerOf(consumer).checkRedelivered(deliveries.filter((delivery) => delivery !== null));
  }

  consumed(deliveries: readonly Delivery[], consumer: number): void {
    const ledger = this.#ledgerOf(consumer);
    for (const delivery of deliveries) if (delivery !== null) ledger.recordConsumed(delivery);
    this.count += deliveries.length;
    this.lastAtMs = this.#clock();
    this.#onConsumed(deliveries.length);
  }

  /** Reports of the ledgers, given the messages that this process committed. */
  report(committed: ReadonlyMap<number, number>): LedgerReport[] {
    return this.#ledgers.map((ledger) => ({ ...ledger.report(), committed: new Map(committed) }));
  }

  #ledgerOf(consumer: number): Ledger {
    return this.#ledgers[consumer % this.#ledgers.length]!;
  }
}
