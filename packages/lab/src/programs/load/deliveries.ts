/** Checks every delivery of a process: checksum, order, latency, and that each message arrives exactly once. */
import type { Delivery, DeliverySink } from '../../systems/driver.ts';
import type { Clock } from '../../trial/clock.ts';
import { consumerOrders } from '../../trial/consumer-orders.ts';
import { recordMs } from '../../trial/latency.ts';
import { Ledger, type LedgerReport, type OrderCheck } from '../../trial/ledger.ts';
import type { PayloadCodec } from '../../trial/payload.ts';
import type { LoadJob } from './load-job.ts';
import type { Window } from './window.ts';

export class Deliveries implements DeliverySink {
  /** Deliveries whose consumption was acknowledged, damaged ones included. */
  count = 0;
  lastAtMs = 0;
  readonly #ledger: Ledger;
  /** By consumer. */
  readonly #orders: readonly OrderCheck[];
  readonly #clock: Clock;
  readonly #window: Window;
  readonly #onConsumed: (deliveries: number) => void;

  constructor(options: {
    job: Pick<LoadJob, 'order' | 'dequeuers'>;
    codec: PayloadCodec;
    clock: Clock;
    window: Window;
    onConsumed: (deliveries: number) => void;
  }) {
    const { order, dequeuers } = options.job;
    this.#ledger = new Ledger(options.codec);
    this.#orders = consumerOrders({ order, consumers: Math.max(1, dequeuers) });
    this.#clock = options.clock;
    this.#window = options.window;
    this.#onConsumed = options.onConsumed;
  }

  delivered(payload: Buffer, consumer: number): Delivery {
    const identity = this.#ledger.recordDelivery({ payload, deliveryCount: 1 }, this.#orders[consumer]!);
    if (identity !== null && this.#window.covers(identity.sentAtMs)) {
      recordMs(this.#window.latency, this.#clock() - identity.sentAtMs);
    }
    return identity;
  }

  consumed(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) if (delivery !== null) this.#ledger.recordConsumed(delivery);
    this.count += deliveries.length;
    this.lastAtMs = this.#clock();
    this.#onConsumed(deliveries.length);
  }

  /** What the ledger says, given what this process committed. */
  report(committed: ReadonlyMap<number, number>): LedgerReport {
    return { ...this.#ledger.report(), committed: new Map(committed) };
  }
}
