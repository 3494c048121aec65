/** The series of the what-if chart: simulated lines, measured points on top of them, and the error between the two. */
import { figureOf, numberParam, type Point, pointKey } from '@shardlab/contract';
import { isWithinAim, type SimulationResult } from '@shardlab/model';
import type { Metric, PointMetrics } from './point-metrics.ts';
import type { ScalingPoint, ScalingSeries } from './scaling-series.ts';
import type { SimulationJob } from './what-if.ts';
import { type LimitedBy, limitedBy } from './what-if-limits.ts';

/** The part of a simulation result that the page shows: figures as those of a measured point. */
export interface SimulatedMetrics extends PointMetrics {
  use: SimulationResult['use'];
  timeShare: SimulationResult['timeShare'];
}

/** The figures that a simulation has. */
export const simulatedFigures: readonly string[] = [
  'dequeuePerSec',
  'enqueuePerSec',
  'cpuUsPerMessage',
  'busiestCores',
  'dequeueCallP50Ms',
  'latencyP50Ms',
  'latencyP99Ms',
];

/** A simulation's result by the names of the measured figures. */
export function simulatedMetrics(result: SimulationResult): SimulatedMetrics {
  const {
    dequeuePerSec,
    enqueuePerSec,
    cpuUsPerMessage,
    cpuShareByInstance,
    dequeueCallMs,
    latencyMs,
    use,
    timeShare,
  } = result;
  const values = {
    dequeuePerSec,
    enqueuePerSec,
    cpuUsPerMessage,
    busiestCores: Math.max(0, ...cpuShareByInstance),
    dequeueCallP50Ms: dequeueCallMs.p50,
    latencyP50Ms: latencyMs.p50,
    latencyP99Ms: latencyMs.p99,
  };
  const figures = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
  return { figures, use, timeShare };
}

export interface SimulatedPoint {
  job: SimulationJob;
  result: SimulatedMetrics;
}

export interface WhatIfPoint extends ScalingPoint {
  metrics: PointMetrics;
  /** The limit of a simulated point; null for a measured one. */
  limitedBy: LimitedBy | null;
}

/** `before`: the last position, drawn as a ghost. */
export function whatIfSeries(
  {
    simulated,
    before,
    measured,
  }: {
    simulated: readonly SimulatedPoint[];
    before: readonly SimulatedPoint[];
    measured: readonly Point[];
  },
  { metric, instances }: { metric: Metric; instances: number },
): ScalingSeries<WhatIfPoint>[] {
  return (['sharded', 'unsharded'] as const).flatMap((system) => {
    const lineOf = (source: string, points: readonly SimulatedPoint[]): WhatIfPoint[] =>
      points
        .filter(({ job }) => job.system === system)
        .map(({ job, result }) => ({
          key: `${source}/${job.key}`,
          x: job.threads,
          value: metric.read(result),
          metrics: result,
          limitedBy: limitedBy(result.use, result.timeShare),
        }));
    const points: WhatIfPoint[] = measured
      .filter((point) => point.system === system)
      .map((point) => ({
        key: pointKey(point),
        x: numberParam(point.params, 'threads'),
        value: metric.read(point),
        metrics: point,
        limitedBy: null,
      }));
    const common = { system, instances, roundTripMs: 0, otherParams: [] };
    return [
      {
        ...common,
        id: `before/${system}`,
        points: drawable(lineOf('before', before)),
        drawnAs: 'ghost' as const,
      },
      {
        ...common,
        id: `simulated/${system}`,
        points: drawable(lineOf('simulated', simulated)),
        drawnAs: 'simulated' as const,
      },
      { ...common, id: `measured/${system}`, points: drawable(points), drawnAs: 'measured' as const },
    ].filter((series) => series.points.length > 0);
  });
}

/** The points that a logarithmic axis can show, in order of `x`. */
const drawable = (points: WhatIfPoint[]): WhatIfPoint[] =>
  points.filter(({ value }) => value > 0).sort((a, b) => a.x - b.x);

export interface ModelError {
  system: string;
  threads: number;
  measured: number;
  simulated: number;
  /** Simulated ÷ measured − 1. */
  error: number;
  /** Whether the error exceeds `agreementAim`. */
  misses: boolean;
  /** Errors of `comparedFigures`, in their order; null where the run lacks the figure. */
  others: (number | null)[];
}

/** Figures that are compared beside the rate, by the same rule. */
export const comparedFigures = [
  { figure: 'cpuUsPerMessage', title: 'CPU' },
  { figure: 'dequeueCallP50Ms', title: 'Dequeue call' },
  { figure: 'latencyP50Ms', title: 'Latency' },
] as const;

/**
 * Compares simulated with measured figures, in the order of the measured points. Points without a simulation are
 * left out.
 */
export function modelErrors(simulated: readonly SimulatedPoint[], measured: readonly Point[]): ModelError[] {
  return measured.flatMap((point) => {
    const { system } = point;
    const threads = numberParam(point.params, 'threads');
    const dequeuePerSec = figureOf(point, 'dequeuePerSec');
    const match = simulated.find(({ job }) => job.system === system && job.threads === threads);
    if (match === undefined || dequeuePerSec === 0) return [];
    const simulatedPerSec = figureOf(match.result, 'dequeuePerSec');
    const error = simulatedPerSec / dequeuePerSec - 1;
    const others = comparedFigures.map(({ figure }) => {
      const value = figureOf(point, figure);
      return value > 0 ? figureOf(match.result, figure) / value - 1 : null;
    });
    return [
      {
        system,
        threads,
        measured: dequeuePerSec,
        simulated: simulatedPerSec,
        error,
        misses: !isWithinAim({ error }),
        others,
      },
    ];
  });
}
