/** Who subscribes to the topics that an instance serves: what the catalog says, taken over by their engine. */
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { Catalog, QueueRow } from '../storage/catalog.ts';
import type { SubscriberRow } from '../storage/subscriber-table.ts';
import type { SubscriberInfo, SubscriberSpec } from '../types.ts';
import type { QueueEngine } from './queue-engine.ts';

/** How often it is looked whether the other instances follow, milliseconds: they look every 100. */
const awaitMs = 25;

export class TopicSubscribers {
  readonly #instance: number;
  readonly #catalog: Catalog;
  /** Those that the catalog knows to be served here. */
  readonly #applied = new Set<SubscriberRow['id']>();

  constructor(instance: number, catalog: Catalog) {
    this.#instance = instance;
    this.#catalog = catalog;
  }

  /** Resolves when every live instance keeps messages for it. */
  async add(
    topic: QueueRow,
    engine: QueueEngine,
    { name, durable = true }: SubscriberSpec,
  ): Promise<SubscriberInfo> {
    assertName(name);
    const { id } = this.#catalog.subscribers.add(topic.queueId, name, durable ? null : this.#instance);
    await this.apply(topic, engine);
    await this.#awaitOthers(id);
    return engine.subscribers(topic).find((subscriber) => subscriber.name === name)!;
  }

  async remove(topic: QueueRow, engine: QueueEngine, name: string): Promise<void> {
    if (!this.#catalog.subscribers.remove(topic.queueId, name)) {
      throw new QueueError('SUBSCRIBER_NOT_FOUND', { details: { queue: topic.name, subscriber: name } });
    }
    await this.apply(topic, engine);
  }

  /** Takes over the subscribers of the catalog, and says there which are served from now on. */
  async apply(topic: QueueRow, engine: QueueEngine): Promise<void> {
    const subscribers = this.#catalog.subscribers.of(topic.queueId);
    await engine.subscribe(topic, subscribers);
    const added = subscribers.filter(({ id }) => !this.#applied.has(id));
    if (added.length === 0) return;
    this.#catalog.subscribers.applied(this.#instance, added);
    for (const { id } of added) this.#applied.add(id);
  }

  /** A live instance that does not keep messages for a subscriber yet would lose it what is committed there. */
  async #awaitOthers(subscriber: number): Promise<void> {
    const until = performance.now() + limits.subscribeMsMax;
    for (;;) {
      const instances = this.#catalog.subscribers.awaited(subscriber);
      if (instances.length === 0) return;
      if (performance.now() > until) throw new QueueError('SUBSCRIBER_PENDING', { details: { instances } });
      await pause(awaitMs);
    }
  }
}

function assertName(name: string): void {
  const assert = (holds: boolean, sentence: string) => {
    if (!holds) throw new QueueError('OPTIONS_INVALID', { sentence });
  };
  const most = limits.subscriberNameMax;
  assert(
    typeof name === 'string' && name.length > 0 && name.length <= most,
    `The name of a subscriber has 1 to ${most} characters`,
  );
  assert(!name.includes('\0'), 'The name of a subscriber has no U+0000');
}
