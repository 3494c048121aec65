/** One sharded queue on one instance: its shards, which session enqueues to which, and its subscriptions. */
import { QueueError, type QueueErrorCode } from '../core/errors.ts';
import { laneNo, priorityMax, priorityOf, shardNo } from '../core/shard-number.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { NewMessage, ShardStats, SubscriberInfo } from '../types.ts';
import type { QueueForwarding } from './forwarding/queue-forwarding.ts';
import type { CacheShare, MessageCache } from './message-cache.ts';
import type { QueueCounts } from './queue-engine.ts';
import { Shard } from './shard.ts';
import { Subscription } from './subscription.ts';

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
  /** Every log of messages: each shard's, and with priorities each lane of it. */
  readonly shards: Shard[] = [];
  /** Of this instance: by index of the shard, then by priority. */
  readonly #lanes: Shard[][];
  readonly row: QueueRow;
  readonly #cache: CacheShare;
  readonly #waits: WaitRecorder;
  readonly #lanesOfSession = new Map<number, Shard[]>();
  readonly #subscriptions = new Map<string | undefined, Subscription>();
  readonly #logOf: (no: number) => Shard;
  /** Undefined for a queue whose messages stay where they are. */
  forwarding: QueueForwarding | undefined;

  constructor({ row, instance, cache, waits, partitionMessagesMax, epoch, recovered }: ShardedQueueOptions) {
    this.row = row;
    this.#cache = cache.share({ bytesMin: row.cacheBytesMin, bytesMax: row.cacheBytesMax });
    this.#waits = waits;
    const persistent = row.durability !== 'memory';
    const firstSeq = persistent ? 1 : epoch * 2 ** 32 + 1;
    this.#logOf = (no) => {
      const range = recovered.get(no) ?? { firstSeq, endSeq: firstSeq };
      const shard = new Shard(
        {
          queueId: row.queueId,
          no,
          persistent,
          partitionMessagesMax,
          indexed: row.correlationIndex,
          ...range,
        },
        this.#cache,
      );
      this.shards.push(shard);
      return shard;
    };
    const lanes = row.priorities ? priorityMax + 1 : 1;
    this.#lanes = Array.from({ length: row.shards }, (_, index) =>
      Array.from({ length: lanes }, (_, priority) => this.#logOf(laneNo(shardNo(instance, index), priority))),
    );
    for (const no of recovered.keys()) if (this.shard(no) === undefined) this.#logOf(no);
    if (row.type === 'queue') this.addSubscription(onlySubscription, (shard) => shard.firstSeq);
  }

  /** Begins to keep messages for a subscriber, in each shard from a number on. */
  addSubscription(
    of: { id: number; name: string | undefined; durable: boolean },
    firstSeqOf: (shard: Shard) => number,
  ): Subscription {
    const subscription = new Subscription(of, this.#waits);
    for (const shard of this.shards) {
      subscription.add(
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
      details: { queue: this.row.name, subscriber: name },
    });
  }

  hasSubscription(name: string): boolean {
    return this.#subscriptions.has(name);
  }

  /** The one that takes what belongs to no session. */
  get firstShard(): Shard {
    return this.#lanes[0]![0]!;
  }

  shard(no: number): Shard | undefined {
    return this.shards.find((shard) => shard.no === no);
  }

  /** The log that messages from another instance come to, made if there is none. */
  landing(no: number): Shard {
    const known = this.shard(no);
    if (known !== undefined) return known;
    const shard = this.#logOf(no);
    const { id: subscriber, name, durable } = onlySubscription;
    this.subscription(name).add(shard.addReader({ subscriber, name, durable, firstSeq: shard.firstSeq }));
    this.forwarding?.logAdded(no);
    return shard;
  }

  /**
   * Where a session's message goes: its group key's shard or the session's, in the lane of its priority. Throws
   * `SUBSCRIBER_NOT_FOUND`, `BACKLOG_FULL`.
   */
  shardFor(session: number, { groupKey, recipients, priority = 0 }: NewMessage): Shard {
    if (recipients !== undefined) for (const name of recipients) this.subscription(name);
    if (this.row.durability === 'memory' && this.#cache.full) throw new QueueError('BACKLOG_FULL');
    if (groupKey !== undefined) return this.#lanes[hash(groupKey) % this.#lanes.length]![priority]!;
    return this.#lanesFor(session)[priority]!;
  }

  /** The lanes of the shard that a session is bound to. */
  #lanesFor(session: number): Shard[] {
    let lanes = this.#lanesOfSession.get(session);
    if (lanes === undefined) {
      // What is behind damage waits until it is repaired: who comes new goes elsewhere while there is a choice.
      const whole = this.#lanes.filter((each) => !each.some(({ partitions }) => partitions.isDamaged));
      lanes = (whole.length > 0 ? whole : this.#lanes).reduce((least, each) =>
        each[0]!.boundSessions < least[0]!.boundSessions ? each : least,
      );
      lanes[0]!.boundSessions += 1;
      this.#lanesOfSession.set(session, lanes);
    }
    return lanes;
  }

  /** It was dropped. */
  dispose(): void {
    for (const shard of this.shards) shard.dispose();
    this.#cache.close();
  }

  serve(): void {
    for (const subscription of this.#subscriptions.values()) subscription.serve();
    this.forwarding?.onReady();
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    for (const subscription of this.#subscriptions.values()) subscription.rejectWaiters(reason);
  }

  unbind(session: number): void {
    const lanes = this.#lanesOfSession.get(session);
    if (lanes === undefined) return;
    lanes[0]!.boundSessions -= 1;
    this.#lanesOfSession.delete(session);
  }

  counts(): QueueCounts {
    const cacheBytes = this.#cache.bytes;
    const counts = {
      shards: this.row.shards,
      cacheBytes,
      ready: 0,
      held: 0,
      delayed: 0,
      enqueued: 0,
      consumed: 0,
      movedIn: 0,
      movedOut: 0,
    };
    for (const shard of this.shards) {
      const { enqueued, backlog, held, paused } = shard;
      // Of a topic a message may be held by some and wait for others: it is ready as long as anyone waits for it.
      counts.ready += this.row.type === 'queue' ? backlog - held - paused : backlog;
      counts.held += held;
      counts.delayed += paused;
      counts.enqueued += enqueued;
      counts.consumed += enqueued - backlog;
    }
    return counts;
  }

  stats(): ShardStats[] {
    // A lane that never had a message is not worth a row.
    const shown = this.shards.filter(
      ({ no, nextSeq, firstSeq }) => priorityOf(no) === 0 || nextSeq > firstSeq,
    );
    return shown.map((shard) => ({
      shard: shard.no,
      queue: this.row.name,
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
