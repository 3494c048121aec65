/** What the what-if chart draws: simulated lines, measured points on top of them, and how far apart they are. */
import { type Implementation, type Point, pointKey } from '@shardlab/contract';
import { agreementAim, type SimulationResult } from '@shardlab/model';
import type { Figures, Metric } from './metrics.ts';
import type { ScalingPoint, ScalingSeries } from './scaling-series.ts';
import type { SimulationJob } from './what-if.ts';

/** Of a simulation, what the page shows. */
export interface SimulatedFigures extends Figures {
  use: SimulationResult['use'];
}

export interface SimulatedPoint {
  job: SimulationJob;
  figures: SimulatedFigures;
}

export interface WhatIfPoint extends ScalingPoint {
  figures: Figures;
  /** Null of a measured one. */
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
      .map(({ job, figures }) => ({
        key: `simulated/${job.key}`,
        x: job.threads,
        value: metric.read(figures),
        figures,
        use: figures.use,
      }));
    const points: WhatIfPoint[] = measured
      .filter((point) => point.implementation === implementation)
      .map((point) => ({
        key: pointKey(point),
        x: point.params.threads,
        value: metric.read(point),
        figures: point,
        use: null,
      }));
    const common = { implementation, instances, roundTripMs: 0, beside: [] };
    return [
      { ...common, id: `simulated/${implementation}`, points: shown(lines), drawnAs: 'simulated' as const },
      { ...common, id: `measured/${implementation}`, points: shown(points), drawnAs: 'measured' as const },
    ].filter((series) => series.points.length > 0);
  });
}

/** What a logarithmic axis can show, rising in x. */
const shown = (points: WhatIfPoint[]): WhatIfPoint[] =>
  points.filter(({ value }) => value > 0).sort((a, b) => a.x - b.x);

export interface ModelError {
  implementation: Implementation;
  threads: number;
  measured: number;
  simulated: number;
  /** Simulated ÷ measured − 1. */
  error: number;
  misses: boolean;
}

/** Rates of dequeues side by side, in the order of the measured points; those that were not simulated are left out. */
export function modelErrors(simulated: readonly SimulatedPoint[], measured: readonly Point[]): ModelError[] {
  return measured.flatMap(({ implementation, params: { threads }, dequeuePerSec }) => {
    const same = simulated.find(
      ({ job }) => job.implementation === implementation && job.threads === threads,
    );
    if (same === undefined || dequeuePerSec === 0) return [];
    const error = same.figures.dequeuePerSec / dequeuePerSec - 1;
    const misses = Math.abs(error) > agreementAim;
    return [
      {
        implementation,
        threads,
        measured: dequeuePerSec,
        simulated: same.figures.dequeuePerSec,
        error,
        misses,
      },
    ];
  });
}
