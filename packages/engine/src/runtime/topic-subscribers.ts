/** Keeps the subscribers of an instance's topics as the catalog has them, and changes them there. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { SubscriberInfo, SubscriberSpec } from '../api/subscriber.ts';
import { assertFields, assertName } from '../model/call-arguments.ts';
import { subscriberFields } from '../model/call-fields.ts';
import type { InstanceId, QueueId, SubscriberId } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import type { Ports } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { subscriberNameFault } from '../model/subscriber-name.ts';
import type { TopicEngine } from '../queues/queue-engine.ts';
import type { Catalog } from '../storage/catalog/catalog.ts';

/** How often the catalog is asked whether the other instances have followed, milliseconds. They read it every 100. */
const awaitPollMs = 25;

export interface TopicSubscribersOptions {
  instance: InstanceId;
  catalog: Catalog;
  topicsOf(topic: QueueRow): TopicEngine;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

export class TopicSubscribers {
  readonly #instance: InstanceId;
  readonly #catalog: Catalog;
  readonly #topicsOf: TopicSubscribersOptions['topicsOf'];
  readonly #ports: TopicSubscribersOptions['ports'];
  /** Subscribers of each topic of which the catalog knows that this instance keeps messages for them. */
  readonly #applied = new Map<QueueId, ReadonlySet<SubscriberId>>();

  constructor({ instance, catalog, topicsOf, ports }: TopicSubscribersOptions) {
    this.#instance = instance;
    this.#catalog = catalog;
    this.#topicsOf = topicsOf;
    this.#ports = ports;
  }

  /** Resolves when every live instance keeps messages for the subscriber. */
  async add(topic: QueueRow, spec: SubscriberSpec): Promise<SubscriberInfo> {
    assertFields(spec, subscriberFields);
    const { name, durable = true } = spec;
    const fault = subscriberNameFault(name);
    if (fault !== undefined) throw new QueueError('OPTIONS_INVALID', { message: fault });
    const { id } = this.#catalog.subscribers.add(topic.queueId, name, durable ? null : this.#instance);
    await this.#apply(topic);
    await this.#awaitOtherInstances(id);
    return this.#topicsOf(topic).subscribers(topic, name)[0]!;
  }

  async remove(topic: QueueRow, name: string): Promise<void> {
    assertName('name', name);
    if (!this.#catalog.subscribers.remove(topic.queueId, name)) {
      if (await this.#topicsOf(topic).removeTemporary(topic, name)) return;
      throw new QueueError('SUBSCRIBER_NOT_FOUND', { details: { queue: topic.name, subscriber: name } });
    }
    await this.#apply(topic);
  }

  /**
   * Applies the catalog's subscribers of all topics among the queues. If an unsharded topic cannot be read, its subscribers stay
   * unknown and calls on it throw the reason: damage of the file that all instances share must not stop instances that serve
   * other queues.
   */
  async applyAll(queues: readonly QueueRow[]): Promise<void> {
    const topics = queues.filter(({ type }) => type === 'topic');
    const queueIds = new Set(topics.map(({ queueId }) => queueId));
    for (const queueId of this.#applied.keys()) if (!queueIds.has(queueId)) this.#applied.delete(queueId);
    await Promise.all(
      topics.map(async (topic) => {
        try {
          await this.#apply(topic);
        } catch (error) {
          if (topic.kind === 'sharded' || !isDamage(error)) throw error;
        }
      }),
    );
  }

  /** Applies the catalog's subscribers of a topic, and records there that this instance keeps messages for them. */
  async #apply(topic: QueueRow): Promise<void> {
    const read = () => this.#catalog.subscribers.ofTopic(topic.queueId);
    const subscribers = await this.#topicsOf(topic).applySubscribers(topic, read);
    const applied = this.#applied.get(topic.queueId);
    const added = subscribers.filter(({ id }) => applied?.has(id) !== true);
    if (added.length > 0) this.#catalog.subscribers.markApplied(this.#instance, added);
    this.#applied.set(topic.queueId, new Set(subscribers.map(({ id }) => id)));
  }

  list(topic: QueueRow): SubscriberInfo[] {
    return this.#topicsOf(topic).subscribers(topic);
  }

  /** A live instance that does not keep messages for the subscriber yet would lose what is committed there. */
  async #awaitOtherInstances(subscriber: SubscriberId): Promise<void> {
    const { clock, timers } = this.#ports;
    const untilMs = clock.monotonicMs() + limits.subscribeMsMax;
    for (;;) {
      const instances = this.#catalog.subscribers.instancesNotApplied(subscriber);
      if (instances.length === 0) return;
      if (clock.monotonicMs() > untilMs)
        throw new QueueError('SUBSCRIBER_PENDING', { details: { instances } });
      await pause(timers, awaitPollMs);
    }
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof QueueError && ['STORAGE_CORRUPT', 'COMMITS_MISSING'].includes(error.code);
}
