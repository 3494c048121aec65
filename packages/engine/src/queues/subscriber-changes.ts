/** Adds and removes subscribers of topics while the instance serves. A change is durable before it is answered. */

import type { SubscriberInfo } from '../api/subscriber.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { Delivery } from '../log/delivery.ts';
import type { QueueId, SubscriberId } from '../model/ids.ts';
import type { Clock } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { SubscriberRow, SubscriptionRow } from '../model/subscriber-row.ts';
import type { TableWrite } from '../model/table-write.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import type { TopicEngine } from './queue-engine.ts';
import type { ShardedQueue, ShardedQueues, Subscription } from './sharded-queues.ts';
import type { TimedHolds } from './timed-holds.ts';

export interface SubscriberChangesOptions {
  groupCommit: GroupCommit;
  queues: ShardedQueues;
  holds: TimedHolds<Delivery>;
  payloads: PayloadStore;
  clock: Clock;
}

export class SubscriberChanges implements TopicEngine {
  readonly #options: SubscriberChangesOptions;
  /** The last change of each queue that has one under way; changes of a queue are made one after the other. */
  readonly #lastChangeByQueue = new Map<QueueId, Promise<unknown>>();

  constructor(options: SubscriberChangesOptions) {
    this.#options = options;
  }

  subscribers(topic: QueueRow, name?: string): SubscriberInfo[] {
    const { queues, clock } = this.#options;
    const nowMs = clock.epochMs();
    return [...queues.getOrCreate(topic).subscriptions]
      .filter((subscription) => name === undefined || subscription.name === name)
      .map((subscription) => subscriberInfo(subscription, nowMs));
  }

  /** Topics of this kind have none. */
  async removeTemporary(): Promise<boolean> {
    return false;
  }

  async applySubscribers(
    row: QueueRow,
    read: () => readonly SubscriberRow[],
  ): Promise<readonly SubscriberRow[]> {
    const queue = this.#options.queues.getOrCreate(row);
    const subscribers = await this.#applyInTurn(queue, row, read);
    for (const log of queue.logs) this.#options.payloads.scanLog(log); // kept for a subscriber that is gone
    return subscribers;
  }

  #applyInTurn(
    queue: ShardedQueue,
    row: QueueRow,
    read: () => readonly SubscriberRow[],
  ): Promise<readonly SubscriberRow[]> {
    const before = this.#lastChangeByQueue.get(row.queueId) ?? Promise.resolve();
    const change = before
      .catch(() => undefined)
      .then(async () => {
        const subscribers = read();
        await this.#apply(queue, row, subscribers);
        return subscribers;
      });
    this.#lastChangeByQueue.set(row.queueId, change);
    const forget = () => {
      if (this.#lastChangeByQueue.get(row.queueId) === change) this.#lastChangeByQueue.delete(row.queueId);
    };
    change.then(forget, forget);
    return change;
  }

  async #apply(queue: ShardedQueue, row: QueueRow, subscribers: readonly SubscriberRow[]): Promise<void> {
    const { groupCommit, holds } = this.#options;
    const gone = [...queue.subscriptions].filter(
      ({ id }) => !subscribers.some((subscriber) => subscriber.id === id),
    );
    for (const subscription of gone) {
      holds.dropWhere(({ delivery }) => subscription.cursors.includes(delivery.cursor));
      queue.removeSubscription(subscription);
    }
    const added = subscribers.filter(({ name }) => !queue.hasSubscription(name));
    if (gone.length + added.length === 0) return;
    const onClose = () => [
      ...gone.map(({ id }) => unsubscribeWrite(id)),
      ...added.flatMap((subscriber) => addSubscription(queue, row, subscriber)),
    ];
    try {
      await groupCommit.write({ sync: 'FULL', onClose });
    } catch (error) {
      for (const { name } of added) {
        if (queue.hasSubscription(name)) queue.removeSubscription(queue.subscription(name));
      }
      throw error;
    }
    if (gone.length === 0) return;
    for (const log of queue.logs) groupCommit.truncateDrained(log);
    groupCommit.schedule();
  }

  /** Removes the rows of subscribers that are not `known`: they were removed while the instance was closed. */
  removeUnknown(subscriptions: readonly SubscriptionRow[], known: Iterable<SubscriberRow>): void {
    const gone = new Set(subscriptions.map(({ subscriber }) => subscriber));
    for (const { id } of known) gone.delete(id);
    if (gone.size === 0) return;
    // If it fails the next opening tries again.
    this.#options.groupCommit
      .write({ sync: 'FULL', background: true, onClose: () => [...gone].map(unsubscribeWrite) })
      .catch(() => undefined);
  }
}

function unsubscribeWrite(subscriber: SubscriberId): TableWrite {
  return { kind: 'unsubscribe', subscriber };
}

/** Called when the group closes: its messages are the first ones that the subscriber gets. */
function addSubscription(queue: ShardedQueue, row: QueueRow, subscriber: SubscriberRow): TableWrite[] {
  const { cursors } = queue.addSubscription(subscriber, (log) => log.nextSeq);
  if (!subscriber.durable || row.durability === 'memory') return [];
  return cursors.map(({ log, firstSeq }) => ({
    kind: 'subscribe',
    subscription: { queueId: row.queueId, shard: log.id, subscriber: subscriber.id, firstSeq },
  }));
}

function subscriberInfo({ name = '', durable, cursors }: Subscription, nowMs: number): SubscriberInfo {
  let backlog = 0;
  let held = 0;
  let oldestAtMs = nowMs;
  for (const cursor of cursors) {
    backlog += cursor.backlog;
    held += cursor.held;
    oldestAtMs = Math.min(oldestAtMs, cursor.oldestReadyAtMs ?? nowMs);
  }
  return { name, durable, backlog, held, lagMs: nowMs - oldestAtMs };
}
