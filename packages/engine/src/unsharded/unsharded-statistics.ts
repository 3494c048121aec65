/** Figures of the unsharded queues of one instance: counts read from the file, and the totals of its own commits. */
import type { ShardStats } from '../api/instance-stats.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import { flowStats } from '../model/flow-stats.ts';
import type { InstanceId, QueueId } from '../model/ids.ts';
import type { Clock } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { DeliveryLatencies } from '../queues/delivery-latencies.ts';
import type { QueueCounts, QueueStatistics } from '../queues/queue-engine.ts';
import type { UnshardedChange } from '../storage/unsharded/unsharded-file.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import type { UnshardedWrites } from './unsharded-writes.ts';

export interface UnshardedStatisticsOptions {
  instance: InstanceId;
  file: LazyUnshardedFile;
  clock: Clock;
  latenciesOf(queueId: QueueId): DeliveryLatencies;
}

export class UnshardedStatistics implements QueueStatistics {
  readonly totals = { enqueued: 0, consumed: 0, commits: 0, groups: 0, syncs: 0 };
  readonly #options: UnshardedStatisticsOptions;

  constructor(options: UnshardedStatisticsOptions) {
    this.#options = options;
  }

  addCommit({ enqueued, consumed }: UnshardedChange, { groupCount, syncCount }: UnshardedWrites): void {
    this.totals.enqueued += enqueued.length;
    this.totals.consumed += consumed.length;
    this.totals.commits += 1;
    this.totals.groups = groupCount;
    this.totals.syncs = syncCount;
  }

  counts(queue: QueueRow): QueueCounts {
    const none = { cacheBytes: 0, delayed: 0, forwardedIn: 0, forwardedOut: 0, refused: 0, lost: 0 };
    const { ready, held, enqueued, consumed } = this.#options.file.opened.counts(queue.queueId, queue.type);
    return { shards: 0, ...none, ready, held, enqueued, consumed };
  }

  shardStats(queue: QueueRow): ShardStats[] {
    const { enqueued, consumed } = this.counts(queue);
    return [{ shard: 0, queue: queue.name, backlog: enqueued - consumed, cacheBytes: 0, partitions: [] }];
  }

  queueStats(queue: QueueRow): QueueStats {
    const { shards: _none, cacheBytes: _nothing, ready, held, ...counts } = this.counts(queue);
    const { instance, file, clock, latenciesOf } = this.#options;
    const flow = file.opened.flow(queue.queueId);
    const { name, kind, type } = queue;
    return {
      queue: name,
      kind,
      type,
      instance,
      asOfMs: clock.epochMs(),
      total: { ...flowStats({ depth: counts.enqueued - counts.consumed, ready, held }, flow), ...counts },
      deliveryLatency: latenciesOf(queue.queueId).read(),
      shards: [],
      subscribers: [],
      partitions: [],
    };
  }
}
