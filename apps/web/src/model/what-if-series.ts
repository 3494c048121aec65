/** The series of the what-if chart: simulated lines, measured points on top of them, and the error between the two. */
import { type Implementation, type Point, pointKey } from '@shardlab/contract';
import { agreementAim, type SimulationResult } from '@shardlab/model';
import type { Metric, PointMetrics } from './point-metrics.ts';
import type { ScalingPoint, ScalingSeries } from './scaling-series.ts';
import type { SimulationJob } from './what-if.ts';

/** The part of a simulation result that the page shows. */
export interface SimulatedMetrics extends PointMetrics {
  use: SimulationResult['use'];
}

export interface SimulatedPoint {
  job: SimulationJob;
  result: SimulatedMetrics;
}

export interface WhatIfPoint extends ScalingPoint {
  metrics: PointMetrics;
  /** Utilisation of each resource; null for a measured point. */
  use: SimulationResult['use'] | null;
}

export function whatIfSeries(
  simulated: readonly SimulatedPoint[],
  measured: readonly Point[],
  { metric, instances }: { metric: Metric; instances: number },
): ScalingSeries<WhatIfPoint>[] {
  return (['sharded', 'unsharded'] as const).flatMap((implementation) => {
    const lines: WhatIfPoint[] = simulated
      .filter(({ job }) => job.implementation === implementation)
      .map(({ job, result }) => ({
        key: `simulated/${job.key}`,
        x: job.threads,
        value: metric.read(result),
        metrics: result,
        use: result.use,
      }));
    const points: WhatIfPoint[] = measured
      .filter((point) => point.implementation === implementation)
      .map((point) => ({
        key: pointKey(point),
        x: point.params.threads,
        value: metric.read(point),
        metrics: point,
        use: null,
      }));
    const common = { implementation, instances, roundTripMs: 0, otherParams: [] };
    return [
      {
        ...common,
        id: `simulated/${implementation}`,
        points: drawable(lines),
        drawnAs: 'simulated' as const,
      },
      { ...common, id: `measured/${implementation}`, points: drawable(points), drawnAs: 'measured' as const },
    ].filter((series) => series.points.length > 0);
  });
}

/** The points that a logarithmic axis can show, in order of `x`. */
const drawable = (points: WhatIfPoint[]): WhatIfPoint[] =>
  points.filter(({ value }) => value > 0).sort((a, b) => a.x - b.x);

export interface ModelError {
  implementation: Implementation;
  threads: number;
  measured: number;
  simulated: number;
  /** Simulated ÷ measured − 1. */
  error: number;
  /** Whether the error exceeds `agreementAim`. */
  misses: boolean;
}

/**
 * Compares simulated with measured dequeue rates, in the order of the measured points. Points without a simulation are
 * left out.
 */
export function modelErrors(simulated: readonly SimulatedPoint[], measured: readonly Point[]): ModelError[] {
  return measured.flatMap(({ implementation, params: { threads }, dequeuePerSec }) => {
    const match = simulated.find(
      ({ job }) => job.implementation === implementation && job.threads === threads,
    );
    if (match === undefined || dequeuePerSec === 0) return [];
    const error = match.result.dequeuePerSec / dequeuePerSec - 1;
    const misses = Math.abs(error) > agreementAim;
    return [
      {
        implementation,
        threads,
        measured: dequeuePerSec,
        simulated: match.result.dequeuePerSec,
        error,
        misses,
      },
    ];
  });
}
