/** Compares the model with measurements: simulates the workload of every measured point. */

import { median } from '../statistics/intervals.ts';
import type { ClusterCosts } from './costs.ts';
import { bottleneckOf, type SimulationResult } from './result.ts';
import { simulate } from './simulate.ts';
import type { ModelWorkload } from './workload.ts';

/** The compared figures: the rate, the CPU, and the medians of three times. */
export const agreementFigures = [
  'dequeuePerSec',
  'cpuUsPerMessage',
  'commitMs',
  'dequeueCallMs',
  'latencyMs',
] as const;
export type AgreementFigure = (typeof agreementFigures)[number];

/** The part of a measured point that the model reproduces. A figure that was not measured is left out. */
export interface MeasuredPoint {
  kind: ModelWorkload['kind'];
  params: {
    instances: number;
    threads: number;
    roundTripMs: number;
    payloadBytes: number;
    operationsPerTransaction: number;
    /** Subscribers of a topic; each has as many dequeuers as there are threads. */
    subscribers?: number;
  };
  /**
   * Messages per second; CPU of all instances per dequeued message, µs; medians in milliseconds of a commit, of a dequeue
   * call, and from the start of the enqueuing commit to the delivery.
   */
  figures: Partial<Record<AgreementFigure, number>>;
}

export interface AgreementOptions {
  /** The scenario's limit: enqueuers of an instance pause above this backlog. */
  backlogMax: number;
  durability: NonNullable<ModelWorkload['durability']>;
  /** Phases of the run, because the size of a growing backlog depends on the time. */
  phases: { warmupMs: number; measureMs: number };
  seed?: number;
}

export interface AgreementRow {
  kind: ModelWorkload['kind'];
  params: MeasuredPoint['params'];
  compared: Partial<Record<AgreementFigure, Comparison>>;
  /** The simulated bottleneck; null if no resource is in use for more than half of the time. */
  bottleneck: ReturnType<typeof bottleneckOf>;
}

export interface Comparison {
  measured: number;
  simulated: number;
  /** Simulated ÷ measured − 1. */
  error: number;
}

/** The model aims at this relative error, of every figure alike. */
export const agreementAim = 0.2;

export const isWithinAim = ({ error }: Pick<Comparison, 'error'>): boolean => Math.abs(error) <= agreementAim;

/**
 * One row per point. Nothing is taken from the points but their workload: an emulated round trip lasts as long as the
 * costs say.
 */
export function compareWithMeasured(
  costs: ClusterCosts,
  points: readonly MeasuredPoint[],
  options: AgreementOptions,
): AgreementRow[] {
  return points.map((point) => compare(costs, point, options));
}

export interface FigureAgreement {
  /** Points within `agreementAim`, of those where the figure was measured. */
  within: number;
  of: number;
  /** Median of the absolute errors; NaN without a point. */
  medianError: number;
}

export function agreementOf(rows: readonly AgreementRow[], figure: AgreementFigure): FigureAgreement {
  const compared = rows.flatMap((row) => row.compared[figure] ?? []);
  return {
    within: compared.filter(isWithinAim).length,
    of: compared.length,
    medianError: median(compared.map(({ error }) => Math.abs(error))),
  };
}

/** The row whose absolute error of the figure is the largest; null if none has the figure. */
export function worstOf(rows: readonly AgreementRow[], figure: AgreementFigure): AgreementRow | null {
  const errorOf = ({ compared }: AgreementRow) => Math.abs(compared[figure]!.error);
  return rows
    .filter(({ compared }) => compared[figure] !== undefined)
    .reduce<AgreementRow | null>(
      (worst, row) => (worst === null || errorOf(row) > errorOf(worst) ? row : worst),
      null,
    );
}

function compare(costs: ClusterCosts, point: MeasuredPoint, options: AgreementOptions): AgreementRow {
  const { kind, params, figures } = point;
  const { seed = 1, backlogMax, durability, phases } = options;
  const { instances, threads, payloadBytes, operationsPerTransaction, subscribers = 1, roundTripMs } = params;
  const result = simulate({
    costs,
    seed,
    workload: {
      kind,
      instances,
      enqueuers: threads,
      dequeuers: threads * subscribers,
      subscribers,
      operationsPerTransaction,
      payloadBytes,
      roundTripUs: roundTripMs * 1000,
      backlogMax,
      durability,
    },
    phases,
  });
  const compared: AgreementRow['compared'] = {};
  for (const figure of agreementFigures) {
    const measured = figures[figure];
    if (measured === undefined) continue;
    const simulated = simulatedFigure(result, figure);
    compared[figure] = { measured, simulated, error: simulated / measured - 1 };
  }
  return { kind, params, compared, bottleneck: bottleneckOf(result.use) };
}

function simulatedFigure(result: SimulationResult, figure: AgreementFigure): number {
  const value = result[figure];
  return typeof value === 'number' ? value : value.p50;
}
