/**
 * The white paper's workloads as sweeps of the model. Its text gives only "until 32" and "up to eight"; the steps between
 * are ours, as is 100 for a "much larger" commit batch.
 */
import type { ClusterCosts } from '../sim/costs.ts';
import { type Sweep, type SweepOptions, type SweepPoint, simulateSweep } from '../sim/sweep.ts';

const queue = { subscribers: 1, operationsPerTransaction: 10, payloadBytes: 512 };
const topic = { ...queue, subscribers: 10 };
const steps = { instances: [1, 2, 4, 8], threads: [1, 2, 4, 8, 16, 32] };

const sweeps = {
  /** Figures 3 to 5. */
  shardedQueue: { kind: 'sharded', ...steps, ...queue },
  unshardedQueue: { kind: 'unsharded', ...steps, ...queue },
  /** Figures 7, 8, 10 and 11: for each enqueuer a dequeuer of each of 10 subscribers. */
  shardedTopic: { kind: 'sharded', ...steps, ...topic },
  unshardedTopic: { kind: 'unsharded', ...steps, ...topic },
  /** Figure 9. */
  shardedTopicBatches: {
    kind: 'sharded',
    instances: [8],
    threads: [8, 16, 32],
    ...topic,
    operationsPerTransaction: 100,
  },
} satisfies Record<string, Sweep>;

export type WhitePaperPoints = Record<keyof typeof sweeps, SweepPoint[]>;

export interface WhitePaperOptions extends SweepOptions {
  /** Only the points with these numbers of threads; the predictions need at least 1, 8 and 32. Default all. */
  threads?: readonly number[];
}

/** Simulates all of them: some 100 points, a few seconds. */
export function simulateWhitePaper(costs: ClusterCosts, options: WhitePaperOptions = {}): WhitePaperPoints {
  const wanted = ({ threads }: Sweep) =>
    threads.filter((count) => options.threads === undefined || options.threads.includes(count));
  return Object.fromEntries(
    Object.entries<Sweep>(sweeps).map(([name, sweep]) => [
      name,
      simulateSweep(costs, { ...sweep, threads: wanted(sweep) }, options),
    ]),
  ) as WhitePaperPoints;
}
