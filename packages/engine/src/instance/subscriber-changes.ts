/** Subscribers come and go while the instance serves: each change is durable before it is answered. */
import type { QueueRow } from '../storage/catalog.ts';
import type { SideChange } from '../storage/side-change.ts';
import type { SubscriberRow } from '../storage/subscriber-table.ts';
import type { SubscriptionRow } from '../storage/subscription-table.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Delivery } from './hand-out.ts';
import type { ShardedQueue } from './sharded-queue.ts';
import type { StagedTransaction } from './staged-transaction.ts';
import type { TimedHolds } from './timed-holds.ts';

export class SubscriberChanges {
  readonly #group: GroupCommit;
  readonly #holds: TimedHolds<Delivery>;
  /** By queue: the changes are made one after the other. */
  readonly #last = new Map<number, Promise<void>>();

  constructor(group: GroupCommit, holds: TimedHolds<Delivery>) {
    this.#group = group;
    this.#holds = holds;
  }

  /** Resolves when the queue has these subscribers and no others. */
  change(queue: ShardedQueue, row: QueueRow, subscribers: readonly SubscriberRow[]): Promise<void> {
    const before = this.#last.get(row.queueId) ?? Promise.resolve();
    const change = before.catch(() => undefined).then(() => this.#change(queue, row, subscribers));
    this.#last.set(row.queueId, change);
    return change;
  }

  async #change(queue: ShardedQueue, row: QueueRow, subscribers: readonly SubscriberRow[]): Promise<void> {
    const gone = [...queue.subscriptions].filter(({ id }) => !subscribers.some((each) => each.id === id));
    for (const subscription of gone) {
      this.#holds.endAll(({ delivery }) => subscription.readers.includes(delivery.reader));
      queue.removeSubscription(subscription);
    }
    const added = subscribers.filter(({ name }) => !queue.hasSubscription(name));
    if (gone.length + added.length === 0) return;
    const side = () => [
      ...gone.map(({ id }) => end(id)),
      ...added.flatMap((each) => begin(queue, row, each)),
    ];
    try {
      await this.#group.submit({ ...nothing, side });
    } catch (error) {
      for (const { name } of added) {
        if (queue.hasSubscription(name)) queue.removeSubscription(queue.subscription(name));
      }
      throw error;
    }
    if (gone.length === 0) return;
    for (const shard of queue.shards) this.#group.truncateDrained(shard);
    this.#group.schedule();
  }

  /** Removes the rows of subscribers that are not `known`: they were removed while the instance was away. */
  forget(subscriptions: readonly SubscriptionRow[], known: Iterable<SubscriberRow>): void {
    const gone = new Set(subscriptions.map(({ subscriber }) => subscriber));
    for (const { id } of known) gone.delete(id);
    if (gone.size === 0) return;
    // If it fails they are forgotten when the instance is opened again.
    this.#group.submit({ ...nothing, side: () => [...gone].map(end) }).catch(() => undefined);
  }
}

const nothing = { runs: [], deliveries: [], bytes: 0, sync: 'FULL' } satisfies StagedTransaction;

function end(subscriber: number): SideChange {
  return { kind: 'unsubscribe', subscriber };
}

/** Messages of the group that closes now are the first ones that it gets. */
function begin(queue: ShardedQueue, row: QueueRow, subscriber: SubscriberRow): SideChange[] {
  const { readers } = queue.addSubscription(subscriber, (shard) => shard.nextSeq);
  if (!subscriber.durable || row.durability === 'memory') return [];
  return readers.map(({ shard, firstSeq }) => ({
    kind: 'subscribe',
    subscription: { queueId: row.queueId, shard: shard.no, subscriber: subscriber.id, firstSeq },
  }));
}
