/** The senders that wait until all messages of a shard that they forwarded here have been delivered. */

import type { QueueError } from '../api/errors.ts';
import type { LogId } from '../model/ids.ts';

interface DeliveryWaiter {
  logId: LogId;
  resolve(): void;
  reject(error: QueueError): void;
}

export class DeliveryCompletion {
  readonly #isDelivered: (logId: LogId) => boolean;
  readonly #waiters = new Set<DeliveryWaiter>();

  constructor(isDelivered: (logId: LogId) => boolean) {
    this.#isDelivered = isDelivered;
  }

  /** Resolves when nothing that came of the shard waits for its first delivery here. Rejects when the queue is closed. */
  waitFor(logId: LogId): Promise<void> {
    if (this.#isDelivered(logId)) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.add({ logId, resolve, reject }));
  }

  /** Call it whenever messages were delivered or returned to their owner. */
  check(): void {
    for (const waiter of this.#waiters) {
      if (!this.#isDelivered(waiter.logId)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  rejectAll(error: QueueError): void {
    for (const { reject } of this.#waiters) reject(error);
    this.#waiters.clear();
  }
}
