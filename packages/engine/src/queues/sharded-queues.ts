/** The sharded queues of one instance that are in memory: recovered from the file, or created when first used. */
import type { QueueError, QueueErrorCode } from '../api/errors.ts';
import type { WaitRecorder } from '../api/waits.ts';
import type { MessageCache } from '../log/message-cache.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { InvariantViolation } from '../model/invariant.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { type LogBounds, ShardedQueue } from './sharded-queue.ts';
import type { WaiterPorts } from './waiters.ts';

export interface ShardedQueuesOptions {
  instance: number;
  epoch: number;
  cache: MessageCache;
  waits: WaitRecorder;
  ports: WaiterPorts;
  partitionMessagesMax: number;
  /** From the catalog. */
  queueById(queueId: number | null): QueueRow | undefined;
  /** A message of a topic turned out not to be addressed to a subscriber that reached it. */
  onNotForSubscriber(log: MessageLog, seq: number): void;
  /** Stops the instance. */
  onInvariantBroken(violation: InvariantViolation): void;
  /** Called for each queue that is created, not for one that is recovered. */
  onCreated(queue: ShardedQueue): void;
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

  /** Undefined if it was not used yet, or was dropped. */
  get(queueId: number): ShardedQueue | undefined {
    return this.#queues.get(queueId);
  }

  getOrCreate(row: QueueRow): ShardedQueue {
    const known = this.#queues.get(row.queueId);
    if (known !== undefined) return known;
    const queue = this.createRecovered(row, new Map());
    this.#options.onCreated(queue);
    return queue;
  }

  /** A queue whose logs have these bounds in the file. Its partitions and subscriptions are to be recovered next. */
  createRecovered(row: QueueRow, recovered: ReadonlyMap<number, LogBounds>): ShardedQueue {
    const { onNotForSubscriber } = this.#options;
    const queue = new ShardedQueue({ row, recovered, ...this.#options });
    for (const log of queue.logs) log.onNotForSubscriber = (seq) => onNotForSubscriber(log, seq);
    this.#queues.set(row.queueId, queue);
    return queue;
  }

  /** Undefined if the catalog does not have it either. */
  findById(queueId: number | null): ShardedQueue | undefined {
    const known = queueId === null ? undefined : this.#queues.get(queueId);
    if (known !== undefined) return known;
    const row = this.#options.queueById(queueId);
    return row && this.getOrCreate(row);
  }

  /** Undefined if it was dropped. */
  queueOfLog({ queueId }: MessageLog): ShardedQueue | undefined {
    return this.#queues.get(queueId);
  }

  delete(queueId: number): void {
    this.#queues.delete(queueId);
  }

  /** Messages may be ready in these logs. */
  readonly serveWaitersOf = (logs: Iterable<MessageLog>): void => {
    const queues = new Set<ShardedQueue>();
    for (const log of logs) {
      const queue = this.queueOfLog(log);
      if (queue !== undefined) queues.add(queue);
    }
    for (const queue of queues) queue.serveWaiters();
  };

  serveAllWaiters(): void {
    for (const queue of this) queue.serveWaiters();
  }

  rejectWaiters(reason: QueueErrorCode | QueueError): void {
    for (const queue of this) queue.rejectWaiters(reason);
  }

  unbindSession(session: number): void {
    for (const queue of this) queue.unbindSession(session);
  }
}
