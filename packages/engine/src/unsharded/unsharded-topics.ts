/** The subscribers of unsharded topics, as this instance knows them, and what changes with them in the file. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { NewMessage } from '../api/message.ts';
import type { SubscriberInfo } from '../api/subscriber.ts';
import type { QueueId, SubscriberId } from '../model/ids.ts';
import { priorityMax } from '../model/log-id.ts';
import type { Clock } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { SubscriberRow } from '../model/subscriber-row.ts';
import type { TopicEngine } from '../queues/queue-engine.ts';
import type { TimedHolds } from '../queues/timed-holds.ts';
import type { MessageRouting } from '../storage/unsharded/message-table.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import type { UnshardedDelivery } from './unsharded-delivery.ts';
import type { UnshardedDispatcher } from './unsharded-dispatcher.ts';
import type { UnshardedWrites } from './unsharded-writes.ts';

export interface UnshardedTopicsOptions {
  file: LazyUnshardedFile;
  writes: UnshardedWrites;
  dispatcher: UnshardedDispatcher;
  holds: TimedHolds<UnshardedDelivery>;
  clock: Clock;
}

/** The only consumer of a queue. */
const noSubscriber: SubscriberId = 0;

interface KnownTopic {
  idByName: ReadonlyMap<string, SubscriberId>;
  /** Why they are not known. */
  failure?: unknown;
  lastChange: Promise<unknown>;
  /** Has not begun to read the catalog, so a later call needs no change of its own. */
  nextChange?: Promise<readonly SubscriberRow[]> | undefined;
}

export class UnshardedTopics implements TopicEngine {
  readonly #options: UnshardedTopicsOptions;
  readonly #topics = new Map<QueueId, KnownTopic>();

  constructor(options: UnshardedTopicsOptions) {
    this.#options = options;
  }

  /** Whether the topic has a subscriber of this name. */
  has(topic: QueueRow, name: string): boolean {
    const { idByName } = this.#topicOf(topic.queueId);
    return (this.#temporaryId(topic, name) ?? idByName.get(name)) !== undefined;
  }

  /** The id of the subscriber of this name; 0 for a queue. Throws `SUBSCRIBER_NOT_FOUND`, and why it could not be known. */
  subscriberOf(topic: QueueRow, name: string | undefined): SubscriberId {
    if (topic.type === 'queue' || name === undefined) return noSubscriber;
    const { idByName, failure } = this.#topicOf(topic.queueId);
    if (failure !== undefined) throw failure;
    const id = this.#temporaryId(topic, name) ?? idByName.get(name);
    if (id === undefined) throw notFound(topic, name);
    return id;
  }

  /** If a subscriber is added under the name of a temporary one, the name means the temporary one until its messages are consumed. */
  #temporaryId({ queueId, temporarySubscribers }: QueueRow, name: string): SubscriberId | undefined {
    return temporarySubscribers ? this.#options.file.opened.temporarySubscriber(queueId, name) : undefined;
  }

  /** The recipients of a topic's message; undefined for a queue. Throws as `subscriberOf`. */
  routingOf(
    queue: QueueRow,
    { priority = 0, recipients }: Pick<NewMessage, 'priority' | 'recipients'>,
  ): MessageRouting | undefined {
    if (queue.type === 'queue') return undefined;
    const rank = priorityMax - priority;
    const { temporarySubscribers: createsTemporary } = queue;
    if (recipients === undefined) return { rank, recipients, createsTemporary };
    if (!createsTemporary) for (const name of recipients) this.subscriberOf(queue, name);
    return { rank, recipients: JSON.stringify(recipients), createsTemporary };
  }

  #topicOf(queueId: QueueId): KnownTopic {
    let topic = this.#topics.get(queueId);
    if (topic === undefined) {
      topic = { idByName: new Map(), lastChange: Promise.resolve() };
      this.#topics.set(queueId, topic);
    }
    return topic;
  }

  subscribers(topic: QueueRow, name?: string): SubscriberInfo[] {
    const { queueId } = topic;
    const { file, clock } = this.#options;
    const nowMs = clock.epochMs();
    const { idByName, failure } = this.#topicOf(queueId);
    if (failure !== undefined) throw failure;
    if (idByName.size === 0 && !(topic.temporarySubscribers && file.isExpected)) return [];
    const only = name === undefined ? undefined : this.subscriberOf(topic, name);
    return file.opened.subscriberCounts(queueId, only).map((subscriber) => {
      const { durable, backlog, held, oldestReadyId } = subscriber;
      const enqueuedAtMs = oldestReadyId === null ? undefined : file.opened.enqueuedAtMs(oldestReadyId);
      const lagMs = Math.max(0, nowMs - (enqueuedAtMs ?? nowMs));
      return { name: subscriber.name, durable, backlog, held, lagMs };
    });
  }

  applySubscribers(topic: QueueRow, read: () => readonly SubscriberRow[]): Promise<readonly SubscriberRow[]> {
    const known = this.#topicOf(topic.queueId);
    if (known.nextChange === undefined) {
      known.nextChange = known.lastChange
        .catch(() => undefined)
        .then(() => {
          known.nextChange = undefined;
          return this.#applyAndKnow(topic.queueId, known, read);
        });
      known.lastChange = known.nextChange;
    }
    return known.nextChange;
  }

  async #applyAndKnow(
    queueId: QueueId,
    known: KnownTopic,
    read: () => readonly SubscriberRow[],
  ): Promise<readonly SubscriberRow[]> {
    try {
      const subscribers = await this.#apply(queueId, known, read);
      known.failure = undefined;
      return subscribers;
    } catch (error) {
      known.failure = error;
      throw error;
    }
  }

  async #apply(
    queueId: QueueId,
    known: KnownTopic,
    read: () => readonly SubscriberRow[],
  ): Promise<readonly SubscriberRow[]> {
    const { file, writes } = this.#options;
    if (known.idByName.size === 0 && !file.isExpected && read().length === 0) return [];
    // First what is stored, then what is wanted: a subscriber that another instance adds meanwhile is in the catalog
    // before it is in the file, so it is not taken for one that was removed.
    const stored = file.opened.storedSubscribers(queueId);
    const wanted = read();
    const wantedIds = new Set(wanted.map(({ id }) => id));
    const storedIds = new Set(stored.map(({ id }) => id));
    const added = wanted.filter(({ id }) => !storedIds.has(id));
    const gone = stored
      .filter(({ id, ended }) => ended || (id > 0 && !wantedIds.has(id)))
      .map(({ id }) => id);
    if (added.length + gone.length > 0)
      await writes.run((opened) => opened.changeSubscribers(queueId, added, gone));
    const before = known.idByName;
    known.idByName = new Map(wanted.map(({ name, id }) => [name, id]));
    for (const id of new Set([...before.values(), ...gone]))
      if (!wantedIds.has(id)) await this.#end(queueId, id);
    for (const subscriber of gone) await this.#purge(queueId, subscriber);
    return wanted;
  }

  /** Ends the calls and the holds of a subscriber that was removed. */
  async #end(queueId: QueueId, subscriber: SubscriberId): Promise<void> {
    const { dispatcher, holds, writes } = this.#options;
    dispatcher.closeWaiters(queueId, 'SUBSCRIBER_NOT_FOUND', subscriber);
    const dropped: UnshardedDelivery[] = [];
    holds.dropWhere(({ delivery }) => {
      const isIts = delivery.recipient?.subscriber === subscriber;
      if (isIts) dropped.push(delivery);
      return isIts;
    });
    if (dropped.length > 0) await writes.release(dropped, 'NORMAL');
  }

  /** Deletes in slices, so that a long backlog does not keep other writers waiting. */
  async #purge(queueId: QueueId, subscriber: SubscriberId): Promise<void> {
    const { writes } = this.#options;
    const rowsMax = limits.purgedRowsPerWrite;
    for (let isDone = false; !isDone; )
      isDone = await writes.run((file) => file.purgeSubscriber({ queueId, subscriber }, rowsMax));
  }

  async removeTemporary(topic: QueueRow, name: string): Promise<boolean> {
    const id = this.#temporaryId(topic, name);
    if (id === undefined) return false;
    const { queueId } = topic;
    await this.#options.writes.run((file) => file.changeSubscribers(queueId, [], [id]));
    await this.#end(queueId, id);
    await this.#purge(queueId, id);
    return true;
  }

  /** The topic was dropped. */
  forget({ queueId }: QueueRow): void {
    this.#topics.delete(queueId);
  }
}

function notFound({ name: queue }: QueueRow, subscriber: string): QueueError {
  return new QueueError('SUBSCRIBER_NOT_FOUND', { details: { queue, subscriber } });
}
