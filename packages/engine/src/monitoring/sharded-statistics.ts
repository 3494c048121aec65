/** The counts and statistics of sharded queues, computed when they are requested. */

import type { ShardStats } from '../api/instance-stats.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { InstanceId } from '../model/ids.ts';
import { priorityOfLog } from '../model/log-id.ts';
import type { Clock } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { DelayedMessages } from '../queues/delayed-messages.ts';
import { DeliveryLatencies } from '../queues/delivery-latencies.ts';
import type { EngineTotals, QueueCounts, QueueStatistics } from '../queues/queue-engine.ts';
import type { ShardedQueue, ShardedQueues } from '../queues/sharded-queues.ts';
import type { ShardedTransactions } from '../queues/sharded-transaction.ts';
import { computeQueueStats } from './compute-queue-stats.ts';
import type { MetricsSampler } from './metrics-sampler.ts';
import { readClock } from './rate-tracker.ts';

export interface ShardedStatisticsOptions {
  instance: InstanceId;
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
    const { commits, groups, syncs } = this.#options.groupCommit;
    return { enqueued, consumed, commits, groups, syncs };
  }

  counts(row: QueueRow): QueueCounts {
    const { queues, delayed, forwardedCounts } = this.#options;
    const counts = countsOf(queues.getOrCreate(row));
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
    return shardStatsOf(this.#options.queues.getOrCreate(row));
  }

  queueStats(row: QueueRow): QueueStats {
    const { instance, queues, sampler, clock } = this.#options;
    const queue = queues.getOrCreate(row);
    const stats = computeQueueStats(queue, this.counts(row), sampler.rates, readClock(clock));
    queue.latencies ??= new DeliveryLatencies();
    return { instance, ...stats, deliveryLatency: queue.latencies.read() };
  }
}

/** Counts from the logs of a queue, which do not include delayed messages and forwarding. */
function countsOf({ row, logs, cacheBytes, refused, lost }: ShardedQueue): QueueCounts {
  const counts = {
    shards: row.shards,
    cacheBytes,
    ready: 0,
    held: 0,
    delayed: 0,
    enqueued: 0,
    consumed: 0,
    forwardedIn: 0,
    forwardedOut: 0,
    refused,
    lost,
  };
  for (const { enqueued, backlog, held, paused } of logs) {
    // A message of a topic counts as ready until no subscriber waits for it, whether or not some hold it.
    counts.ready += row.type === 'queue' ? backlog - held - paused : backlog;
    counts.held += held;
    counts.delayed += paused;
    counts.enqueued += enqueued;
    counts.consumed += enqueued - backlog;
  }
  return counts;
}

function shardStatsOf({ row, logs }: ShardedQueue): ShardStats[] {
  // Lanes that never had a message are left out.
  const shown = logs.filter(({ id, nextSeq, firstSeq }) => priorityOfLog(id) === 0 || nextSeq > firstSeq);
  return shown.map((log) => ({
    shard: log.id,
    queue: row.name,
    backlog: log.backlog,
    cacheBytes: log.cacheBytes,
    partitions: log.partitions.stats((start, end) => log.terminalCountBetween(start, end)),
  }));
}
