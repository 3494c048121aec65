/** All sharded queues of one instance in memory: each is made when it is first asked for, or from what the file holds. */
import type { QueueError, QueueErrorCode } from '../core/errors.ts';
import type { WaitRecorder } from '../core/waits.ts';
import type { QueueRow } from '../storage/catalog.ts';
import type { MessageCache } from './message-cache.ts';
import type { Shard } from './shard.ts';
import { type SequenceRange, ShardedQueue } from './sharded-queue.ts';

export interface ShardedQueuesOptions {
  instance: number;
  epoch: number;
  cache: MessageCache;
  waits: WaitRecorder;
  partitionMessagesMax: number;
  /** What the catalog says. */
  queueById(queueId: number | null): QueueRow | undefined;
  /** No subscriber of a topic needs the message any more: it is for none of those who are left. */
  onPassed(shard: Shard, seq: number): void;
  /** To be called for each that was made anew, and so is whole. */
  onMade(queue: ShardedQueue): void;
}

export class ShardedQueues {
  readonly #options: ShardedQueuesOptions;
  readonly #queues = new Map<number, ShardedQueue>();

  constructor(options: ShardedQueuesOptions) {
    this.#options = options;
  }

  [Symbol.iterator](): Iterator<ShardedQueue> {
    return this.#queues.values();
  }

  /** Undefined if nobody has asked for it, or it was dropped. */
  get(queueId: number): ShardedQueue | undefined {
    return this.#queues.get(queueId);
  }

  of(row: QueueRow): ShardedQueue {
    const known = this.#queues.get(row.queueId);
    if (known !== undefined) return known;
    const queue = this.recovered(row, new Map());
    this.#options.onMade(queue);
    return queue;
  }

  /** One of which the file holds these numbers, by shard: it is not whole yet. */
  recovered(row: QueueRow, ranges: ReadonlyMap<number, SequenceRange>): ShardedQueue {
    const { instance, epoch, cache, waits, partitionMessagesMax, onPassed } = this.#options;
    const queue = new ShardedQueue({
      row,
      instance,
      cache,
      waits,
      partitionMessagesMax,
      epoch,
      recovered: ranges,
    });
    for (const shard of queue.shards) shard.onPassed = (seq) => onPassed(shard, seq);
    this.#queues.set(row.queueId, queue);
    return queue;
  }

  /** Undefined if the catalog does not have it either. */
  byId(queueId: number | null): ShardedQueue | undefined {
    const known = queueId === null ? undefined : this.#queues.get(queueId);
    if (known !== undefined) return known;
    const row = this.#options.queueById(queueId);
    return row && this.of(row);
  }

  /** Undefined if it was dropped. */
  ofShard({ queueId }: Shard): ShardedQueue | undefined {
    return this.#queues.get(queueId);
  }

  delete(queueId: number): void {
    this.#queues.delete(queueId);
  }

  /** Messages may be ready in these shards. */
  serve(shards: Iterable<Shard>): void {
    const queues = new Set<ShardedQueue>();
    for (const shard of shards) {
      const queue = this.ofShard(shard);
      if (queue !== undefined) queues.add(queue);
    }
    for (const queue of queues) queue.serve();
  }

  serveAll(): void {
    for (const queue of this) queue.serve();
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    for (const queue of this) queue.rejectWaiters(reason);
  }

  unbind(session: number): void {
    for (const queue of this) queue.unbind(session);
  }
}
