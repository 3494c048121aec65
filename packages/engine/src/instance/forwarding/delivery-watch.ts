/** Who wants to know when all messages of a shard that came here are delivered: the instances that gave them. */
import type { QueueError } from '../../core/errors.ts';

interface Watcher {
  shard: number;
  delivered(): void;
  ended(error: QueueError): void;
}

export class DeliveryWatch {
  readonly #isDelivered: (shard: number) => boolean;
  readonly #watchers = new Set<Watcher>();

  constructor(isDelivered: (shard: number) => boolean) {
    this.#isDelivered = isDelivered;
  }

  /** Resolves when all that came here of a shard was delivered, or went home. Rejects at the end of the queue. */
  until(shard: number): Promise<void> {
    if (this.#isDelivered(shard)) return Promise.resolve();
    return new Promise((delivered, ended) => this.#watchers.add({ shard, delivered, ended }));
  }

  /** Messages were delivered, or went home. */
  look(): void {
    for (const watcher of this.#watchers) {
      if (!this.#isDelivered(watcher.shard)) continue;
      this.#watchers.delete(watcher);
      watcher.delivered();
    }
  }

  end(error: QueueError): void {
    for (const { ended } of this.#watchers) ended(error);
    this.#watchers.clear();
  }
}
