/** Checks every delivery of a process: checksum, order, latency, and that each subscriber received it exactly once. */
import {
  type Clock,
  type Delivery,
  DeliveryOrder,
  type DeliverySink,
  Ledger,
  type LedgerReport,
  type PayloadCodec,
  recordMs,
} from '@shardlab/lab';
import type { Job } from './job.ts';
import type { Window } from './window.ts';

/** For systems that promise no order among consumers. */
class AnyOrder extends DeliveryOrder {
  override inOrder(): boolean {
    return true;
  }
}

export class Deliveries implements DeliverySink {
  /** Deliveries whose consumption was acknowledged, damaged ones included. */
  count = 0;
  lastAtMs = 0;
  /** One for each subscriber; one for a queue. */
  readonly #ledgers: Ledger[];
  readonly #orders: DeliveryOrder[];
  readonly #clock: Clock;
  readonly #window: Window;
  readonly #onConsumed: (deliveries: number) => void;

  constructor(options: {
    job: Pick<Job, 'order' | 'dequeuers' | 'client'>;
    forge: PayloadCodec;
    clock: Clock;
    window: Window;
    onConsumed: (deliveries: number) => void;
  }) {
    const { order, dequeuers, client } = options.job;
    const subscribers = Math.max(1, client.subscribers);
    this.#ledgers = Array.from({ length: subscribers }, () => new Ledger(options.forge));
    const shared = this.#ledgers.map(() => (order === 'none' ? new AnyOrder() : new DeliveryOrder()));
    this.#orders = Array.from({ length: Math.max(1, dequeuers) }, (_, consumer) =>
      order === 'consumer' ? new DeliveryOrder() : shared[consumer % subscribers]!,
    );
    this.#clock = options.clock;
    this.#window = options.window;
    this.#onConsumed = options.onConsumed;
  }

  delivered(payload: Buffer, consumer: number): Delivery {
    const ledger = this.#ledgers[consumer % this.#ledgers.length]!;
    const identity = ledger.recordDelivery({ payload, deliveryCount: 1 }, this.#orders[consumer]!);
    if (identity !== null && this.#window.covers(identity.sentAtMs)) {
      recordMs(this.#window.latency, this.#clock() - identity.sentAtMs);
    }
    return identity;
  }

  consumed(deliveries: readonly Delivery[], consumer: number): void {
    const ledger = this.#ledgers[consumer % this.#ledgers.length]!;
    for (const delivery of deliveries) if (delivery !== null) ledger.recordConsumed(delivery);
    this.count += deliveries.length;
    this.lastAtMs = this.#clock();
    this.#onConsumed(deliveries.length);
  }

  /** What every subscriber's ledger says, given what this process committed. */
  reports(committed: ReadonlyMap<number, number>): LedgerReport[] {
    return this.#ledgers.map((ledger) => ({ ...ledger.report(), committed: new Map(committed) }));
  }
}
