/** One sharded queue on one instance: its shards, which session enqueues to which, and its subscriptions. */
import { QueueError, type QueueErrorCode } from '../core/errors.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { NewMessage, ShardStats, SubscriberInfo } from '../types.ts';
import type { MessageCache } from './message-cache.ts';
import type { QueueCounts } from './queue-engine.ts';
import { Shard } from './shard.ts';
import { Subscription } from './subscription.ts';

/** Shard numbers are unique in the cluster: an instance's own begin at its number times this. */
const shardsPerInstance = 100;

/** The subscription of a queue, whose messages have one consumer. */
const onlySubscription = { id: 0, name: undefined, durable: true };

export interface SequenceRange {
  firstSeq: number;
  endSeq: number;
}

export interface ShardedQueueOptions {
  row: QueueRow;
  instance: number;
  cache: MessageCache;
  waits: WaitRecorder;
  partitionMessagesMax: number;
  /** Numbers of nonpersistent messages start in it, so that an id never comes twice. */
  epoch: number;
  /** What the file holds of its shards, by number. */
  recovered: ReadonlyMap<number, SequenceRange>;
}

export class ShardedQueue {
  readonly shards: Shard[] = [];
  readonly #row: QueueRow;
  readonly #cache: MessageCache;
  readonly #waits: WaitRecorder;
  readonly #shardOfSession = new Map<number, Shard>();
  readonly #subscriptions = new Map<string | undefined, Subscription>();

  constructor({ row, instance, cache, waits, partitionMessagesMax, epoch, recovered }: ShardedQueueOptions) {
    this.#row = row;
    this.#cache = cache;
    this.#waits = waits;
    const persistent = row.durability !== 'memory';
    const firstSeq = persistent ? 1 : epoch * 2 ** 32 + 1;
    const own = Array.from({ length: row.shards }, (_, index) => instance * shardsPerInstance + index);
    for (const no of new Set([...own, ...recovered.keys()])) {
      const range = recovered.get(no) ?? { firstSeq, endSeq: firstSeq };
      const start = { queueId: row.queueId, no, persistent, partitionMessagesMax, ...range };
      this.shards.push(new Shard(start, cache));
    }
    if (row.type === 'queue') this.addSubscription(onlySubscription, (shard) => shard.firstSeq);
  }

  /** Begins to keep messages for a subscriber, in each shard from a number on. */
  addSubscription(
    of: { id: number; name: string | undefined; durable: boolean },
    firstSeqOf: (shard: Shard) => number,
  ): Subscription {
    const subscription = new Subscription(of, this.#waits);
    for (const shard of this.shards) {
      subscription.readers.push(
        shard.addReader({
          subscriber: of.id,
          name: of.name,
          durable: of.durable,
          firstSeq: firstSeqOf(shard),
        }),
      );
    }
    this.#subscriptions.set(of.name, subscription);
    return subscription;
  }

  removeSubscription(subscription: Subscription): void {
    if (this.#subscriptions.get(subscription.name) === subscription)
      this.#subscriptions.delete(subscription.name);
    subscription.rejectWaiters('SUBSCRIBER_NOT_FOUND');
    for (const shard of this.shards) shard.removeReader(subscription.id);
  }

  get subscriptions(): Iterable<Subscription> {
    return this.#subscriptions.values();
  }

  /** The one of a subscriber, or of a queue. Throws `SUBSCRIBER_NOT_FOUND`. */
  subscription(name: string | undefined): Subscription {
    const subscription = this.#subscriptions.get(name);
    if (subscription !== undefined) return subscription;
    throw new QueueError('SUBSCRIBER_NOT_FOUND', {
      details: { queue: this.#row.name, subscriber: name },
    });
  }

  hasSubscription(name: string): boolean {
    return this.#subscriptions.has(name);
  }

  shardFor(session: number, { groupKey, recipients = [] }: NewMessage): Shard {
    for (const name of recipients) this.subscription(name);
    if (this.#row.durability === 'memory' && this.#cache.full) throw new QueueError('BACKLOG_FULL');
    if (groupKey !== undefined) return this.shards[hash(groupKey) % this.#row.shards]!;
    let shard = this.#shardOfSession.get(session);
    if (shard === undefined) {
      const own = this.shards.slice(0, this.#row.shards);
      shard = own.reduce((least, each) => (each.boundSessions < least.boundSessions ? each : least));
      shard.boundSessions += 1;
      this.#shardOfSession.set(session, shard);
    }
    return shard;
  }

  serve(): void {
    for (const subscription of this.#subscriptions.values()) subscription.serve();
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    for (const subscription of this.#subscriptions.values()) subscription.rejectWaiters(reason);
  }

  unbind(session: number): void {
    const shard = this.#shardOfSession.get(session);
    if (shard === undefined) return;
    shard.boundSessions -= 1;
    this.#shardOfSession.delete(session);
  }

  counts(): QueueCounts {
    const counts = { shards: this.#row.shards, ready: 0, held: 0, enqueued: 0, consumed: 0 };
    for (const shard of this.shards) {
      const { enqueued, backlog, held } = shard;
      // Of a topic a message may be held by some and wait for others: it is ready as long as anyone waits for it.
      counts.ready += this.#row.type === 'queue' ? backlog - held : backlog;
      counts.held += held;
      counts.enqueued += enqueued;
      counts.consumed += enqueued - backlog;
    }
    return counts;
  }

  stats(): ShardStats[] {
    return this.shards.map((shard) => ({
      shard: shard.no,
      queue: this.#row.name,
      backlog: shard.backlog,
      cacheBytes: shard.cacheBytes,
      partitions: shard.partitions.stats((start, end) => shard.terminalBetween(start, end)),
    }));
  }

  /** Its named subscribers; none for a queue. */
  subscribers(): SubscriberInfo[] {
    const nowMs = Date.now();
    return [...this.#subscriptions.values()]
      .filter((subscription) => subscription.name !== undefined)
      .map((subscription) => subscription.info(nowMs));
  }
}

/** FNV-1a over UTF-16 code units: which shard a key goes to must not change from run to run. */
function hash(key: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) value = Math.imul(value ^ key.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
