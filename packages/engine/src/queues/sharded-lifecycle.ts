/** Drops and stops sharded queues. */

import { QueueError } from '../api/errors.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { Delivery } from '../log/delivery.ts';
import type { QueueId } from '../model/ids.ts';
import type { PartitionPool } from '../model/partitions.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { DelayedMessages } from './delayed-messages.ts';
import type { PayloadStore } from './payloads/payload-store.ts';
import type { QueueLifecycle } from './queue-engine.ts';
import type { ShardedQueue, ShardedQueues } from './sharded-queues.ts';
import type { TimedHolds } from './timed-holds.ts';

export interface ShardedLifecycleOptions {
  groupCommit: GroupCommit;
  pool: PartitionPool;
  queues: ShardedQueues;
  holds: TimedHolds<Delivery>;
  delayed: DelayedMessages;
  payloads: PayloadStore;
  /** The queue's forwarding ends. */
  dropForwarding(queueId: QueueId): void;
}

export class ShardedLifecycle implements QueueLifecycle {
  readonly #options: ShardedLifecycleOptions;

  constructor(options: ShardedLifecycleOptions) {
    this.#options = options;
  }

  async drop({ queueId }: QueueRow): Promise<void> {
    const { queues, delayed, dropForwarding } = this.#options;
    const queue = queues.get(queueId);
    if (queue === undefined && delayed.countOf(queueId) === 0) return;
    queues.delete(queueId);
    dropForwarding(queueId);
    if (queue !== undefined) await this.#dropLogs(queue);
    await this.deleteRows(queueId); // includes rows of commits that were in flight
  }

  /** Deletes what a dropped queue has outside its partitions. */
  async deleteRows(queueId: QueueId): Promise<void> {
    const { groupCommit, delayed, payloads } = this.#options;
    delayed.removeQueue(queueId);
    payloads.removeQueue(queueId);
    await groupCommit.write({ sync: 'FULL', onClose: () => [{ kind: 'delete queue', queueId }] });
  }

  async #dropLogs(queue: ShardedQueue): Promise<void> {
    const { groupCommit, pool, holds } = this.#options;
    queue.rejectWaiters('QUEUE_DROPPED');
    queue.blockedSends.rejectAll(new QueueError('QUEUE_DROPPED', { details: { queue: queue.row.name } }));
    holds.dropWhere((hold) => hold.queue.queueId === queue.row.queueId);
    for (const log of queue.logs) log.dropped = true;
    await groupCommit.whenIdle(); // transactions in flight may still name its partitions
    for (const log of queue.logs) {
      for (const partition of log.partitions.beginTruncatingAll())
        pool.truncate(partition.id, log.partitions);
    }
    queue.dispose();
  }

  stopDequeue({ queueId }: QueueRow): void {
    this.#options.queues.get(queueId)?.rejectWaiters('DEQUEUE_STOPPED');
  }
}
