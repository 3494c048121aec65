/** The counts and statistics of sharded queues, at the moment when they are asked for. */

import type { ShardStats } from '../api/instance-stats.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { Clock } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { DelayedMessages } from '../queues/delayed-messages.ts';
import type { EngineTotals, QueueCounts, QueueStatistics } from '../queues/queue-engine.ts';
import type { ShardedQueues } from '../queues/sharded-queues.ts';
import type { ShardedTransactions } from '../queues/sharded-transaction.ts';
import { computeQueueStats } from './compute-queue-stats.ts';
import type { MetricsSampler } from './metrics-sampler.ts';
import { readClock } from './rate-tracker.ts';

export interface ShardedStatisticsOptions {
  instance: number;
  queues: ShardedQueues;
  delayed: DelayedMessages;
  transactions: ShardedTransactions;
  groupCommit: GroupCommit;
  sampler: MetricsSampler;
  clock: Clock;
  /** Messages of a queue that other instances forwarded here, and that were forwarded to them. */
  forwardedCounts(row: QueueRow): { forwardedIn: number; forwardedOut: number };
}

export class ShardedStatistics implements QueueStatistics {
  readonly #options: ShardedStatisticsOptions;

  constructor(options: ShardedStatisticsOptions) {
    this.#options = options;
  }

  get totals(): EngineTotals {
    const { enqueued, consumed } = this.#options.transactions;
    const { commits, groups } = this.#options.groupCommit;
    return { enqueued, consumed, commits, groups };
  }

  counts(row: QueueRow): QueueCounts {
    const { queues, delayed, forwardedCounts } = this.#options;
    const counts = queues.getOrCreate(row).counts();
    const notDue = delayed.countOf(row.queueId);
    const { forwardedIn, forwardedOut } = forwardedCounts(row);
    return {
      ...counts,
      delayed: counts.delayed + notDue,
      // A log counts all messages that were appended to it or left it, forwarded ones included.
      enqueued: counts.enqueued + notDue - forwardedIn,
      consumed: counts.consumed - forwardedOut,
      forwardedIn,
      forwardedOut,
    };
  }

  shardStats(row: QueueRow): ShardStats[] {
    return this.#options.queues.getOrCreate(row).shardStats();
  }

  queueStats(row: QueueRow): QueueStats {
    const { instance, queues, sampler, clock } = this.#options;
    const queue = queues.getOrCreate(row);
    const stats = computeQueueStats(queue, this.counts(row), sampler.rates, readClock(clock));
    return { instance, ...stats };
  }
}
