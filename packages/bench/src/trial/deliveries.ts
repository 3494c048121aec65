/** Every delivery of a process: its check sum, its order, its latency, and that it came once. */
import { type Clock, DeliveryOrder, type Ledger, recordMs } from '@shardlab/lab';
import type { Delivery, DeliverySink } from '../drivers/driver.ts';
import type { Job } from './job.ts';
import type { Window } from './window.ts';

/** For systems that promise no order among consumers. */
class AnyOrder extends DeliveryOrder {
  override inOrder(): boolean {
    return true;
  }
}

export class Deliveries implements DeliverySink {
  /** Messages whose consumption was acknowledged, damaged ones included. */
  count = 0;
  lastAtMs = 0;
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #window: Window;
  readonly #onConsumed: (messages: number) => void;
  readonly #orders: DeliveryOrder[];

  constructor(options: {
    job: Pick<Job, 'order' | 'dequeuers'>;
    ledger: Ledger;
    clock: Clock;
    window: Window;
    onConsumed: (messages: number) => void;
  }) {
    const { order, dequeuers } = options.job;
    this.#ledger = options.ledger;
    this.#clock = options.clock;
    this.#window = options.window;
    this.#onConsumed = options.onConsumed;
    const shared = order === 'none' ? new AnyOrder() : new DeliveryOrder();
    this.#orders = Array.from({ length: dequeuers }, () =>
      order === 'consumer' ? new DeliveryOrder() : shared,
    );
  }

  handedOut(payload: Buffer, consumer: number): Delivery {
    const identity = this.#ledger.handedOut({ payload, deliveryCount: 1 }, this.#orders[consumer]!);
    if (identity !== null && this.#window.covers(identity.sentAtMs)) {
      recordMs(this.#window.latency, this.#clock() - identity.sentAtMs);
    }
    return identity;
  }

  consumed(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      if (delivery !== null) this.#ledger.consumed({ ...delivery, sentAtMs: 0 });
    }
    this.count += deliveries.length;
    this.lastAtMs = this.#clock();
    this.#onConsumed(deliveries.length);
  }
}
