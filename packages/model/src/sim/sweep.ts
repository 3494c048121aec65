/** Sweeps: the same workload with varying thread and instance counts, as in the documents' figures. */
import type { ClusterCosts } from './costs.ts';
import type { SimulationResult } from './result.ts';
import { simulate } from './simulate.ts';
import type { ModelWorkload } from './workload.ts';

export interface Sweep {
  kind: ModelWorkload['kind'];
  instances: number[];
  /** Number of enqueuers over all instances, and of dequeuers per subscriber. */
  threads: number[];
  subscribers: number;
  operationsPerTransaction: number;
  payloadBytes: number;
}

export interface SweepPoint {
  instances: number;
  threads: number;
  result: SimulationResult;
}

export interface SweepOptions {
  seed?: number;
  /** Scales how long each point is simulated; default 1, for rates within about 2 %. */
  effort?: number;
}

export function simulateSweep(costs: ClusterCosts, sweep: Sweep, options: SweepOptions = {}): SweepPoint[] {
  const { seed = 1, effort = 1 } = options;
  return sweep.instances.flatMap((instances) =>
    sweep.threads.map((threads) => {
      const workload: ModelWorkload = {
        kind: sweep.kind,
        instances,
        enqueuers: threads,
        dequeuers: threads * sweep.subscribers,
        subscribers: sweep.subscribers,
        operationsPerTransaction: sweep.operationsPerTransaction,
        payloadBytes: sweep.payloadBytes,
      };
      const measureOperations = Math.round(operationsFor(workload) * effort);
      const warmupOperations = Math.round(measureOperations / 5);
      return {
        instances,
        threads,
        result: simulate({ costs, workload, seed, warmupOperations, measureOperations }),
      };
    }),
  );
}

/** Enough for every session to commit a dozen times, and for a mean of a few per cent. */
function operationsFor({ enqueuers, dequeuers, operationsPerTransaction }: ModelWorkload): number {
  return Math.max(30_000, (enqueuers + dequeuers) * operationsPerTransaction * 12);
}

/** The point of the highest dequeue rate. */
export function bestOf(points: readonly SweepPoint[]): SweepPoint {
  return points.reduce((best, point) =>
    point.result.dequeuePerSec > best.result.dequeuePerSec ? point : best,
  );
}
