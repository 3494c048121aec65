/** One sharded queue on one instance: its shards, which session enqueues to which, and who waits for messages. */
import { QueueError } from '../core/errors.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { Message, ShardStats } from '../types.ts';
import type { MessageCache } from './message-cache.ts';
import type { QueueCounts } from './queue-engine.ts';
import { type Delivery, Shard } from './shard.ts';
import { Waiters } from './waiters.ts';

/** Shard numbers are unique in the cluster: an instance's own begin at its number times this. */
const shardsPerInstance = 100;

export interface ShardedQueueOptions {
  row: QueueRow;
  instance: number;
  cache: MessageCache;
  waits: WaitRecorder;
  partitionMessagesMax: number;
  /** Numbers of nonpersistent messages start in it, so that an id never comes twice. */
  epoch: number;
}

/** A dequeue call: takes what is there for it; nothing leaves it waiting. */
export type TakeRequest = () => Message[];

export class ShardedQueue {
  readonly waiters: Waiters<TakeRequest>;
  readonly shards: Shard[] = [];
  readonly #row: QueueRow;
  readonly #cache: MessageCache;
  readonly #partitionMessagesMax: number;
  #turn = 0;
  readonly #shardOfSession = new Map<number, Shard>();

  constructor({ row, instance, cache, waits, partitionMessagesMax, epoch }: ShardedQueueOptions) {
    this.#partitionMessagesMax = partitionMessagesMax;
    this.#row = row;
    this.#cache = cache;
    this.waiters = new Waiters(waits);
    const firstSeq = row.durability === 'memory' ? epoch * 2 ** 32 + 1 : 1;
    for (let index = 0; index < row.shards; index += 1) {
      this.addShard(instance * shardsPerInstance + index, { firstSeq, endSeq: firstSeq });
    }
  }

  /** Sets a shard up with what is known of it; replaces one of the same number. */
  addShard(no: number, range: { firstSeq: number; endSeq: number }): Shard {
    const persistent = this.#row.durability !== 'memory';
    const shard = new Shard(
      {
        queueId: this.#row.queueId,
        no,
        persistent,
        partitionMessagesMax: this.#partitionMessagesMax,
        ...range,
      },
      this.#cache,
    );
    const index = this.shards.findIndex((known) => known.no === no);
    if (index < 0) this.shards.push(shard);
    else this.shards[index] = shard;
    return shard;
  }

  shardFor(session: number, groupKey: string | undefined): Shard {
    if (this.#row.durability === 'memory' && this.#cache.full) throw new QueueError('BACKLOG_FULL');
    if (groupKey !== undefined) return this.shards[hash(groupKey) % this.shards.length]!;
    let shard = this.#shardOfSession.get(session);
    if (shard === undefined) {
      shard = this.shards.reduce((least, each) => (each.boundSessions < least.boundSessions ? each : least));
      shard.boundSessions += 1;
      this.#shardOfSession.set(session, shard);
    }
    return shard;
  }

  /** Messages may be there: serves waiting calls in order until one gets nothing. */
  serve(): void {
    for (const waiter of this.waiters) {
      const messages = waiter.request();
      if (messages.length === 0) return;
      waiter.settle(messages);
    }
  }

  unbind(session: number): void {
    const shard = this.#shardOfSession.get(session);
    if (shard === undefined) return;
    shard.boundSessions -= 1;
    this.#shardOfSession.delete(session);
  }

  /** Takes messages from one shard after the other; each call starts at the next one, so that all are served. */
  take(options: { max: number; nextHoldNo: () => number; out: Delivery[] }): void {
    const { max, nextHoldNo, out } = options;
    this.#turn += 1;
    for (let i = 0; i < this.shards.length && out.length < max; i += 1) {
      this.shards[(this.#turn + i) % this.shards.length]!.take(max - out.length, nextHoldNo, out);
    }
  }

  counts(): QueueCounts {
    const counts = { shards: this.#row.shards, ready: 0, held: 0, enqueued: 0, consumed: 0 };
    for (const shard of this.shards) {
      const { enqueued } = shard;
      counts.ready += shard.ready;
      counts.held += shard.held;
      counts.enqueued += enqueued;
      counts.consumed += enqueued - shard.backlog;
    }
    return counts;
  }

  stats(): ShardStats[] {
    return this.shards.map((shard) => ({
      shard: shard.no,
      queue: this.#row.name,
      backlog: shard.backlog,
      cacheBytes: shard.cacheBytes,
      partitions: shard.partitions.stats(shard.consumption),
    }));
  }
}

/** FNV-1a over UTF-16 code units: which shard a key goes to must not change from run to run. */
function hash(key: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) value = Math.imul(value ^ key.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
