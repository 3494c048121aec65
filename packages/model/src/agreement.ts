/** Compares the model with measurements: simulates the workload of every measured point. */
import type { ClusterCosts } from './hardware/costs.ts';
import { median } from './intervals.ts';
import { bottleneckOf } from './sim/result.ts';
import { simulate } from './sim/simulate.ts';
import type { ModelWorkload } from './sim/workload.ts';

/** The part of a measured point that the model reproduces. */
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
  enqueuePerSec: number;
  dequeuePerSec: number;
  cpuUsPerMessage: number;
  /** Time of one dequeue call. */
  dequeueCallMs: { p50: number; p90: number };
  /** From the start of the enqueuing commit to the delivery. */
  latencyMs: { p50: number; p90: number };
  /** Waits of sessions; an emulated round trip is the event `client round trip`. */
  waits?: readonly { event: string; waits: number; totalMs: number }[];
}

export interface AgreementOptions {
  /** The scenario's limit: enqueuers of an instance pause above this backlog. */
  backlogMax: number;
  durability: NonNullable<ModelWorkload['durability']>;
  /** Phases of the run, because the size of a growing backlog depends on the time. */
  phases: { warmupMs: number; measureMs: number };
  seed?: number;
}

export interface Agreement {
  rows: AgreementRow[];
  /** Points whose dequeue rate is within `agreementAim` of the measured one, and of all. */
  within: number;
  /** Median of the relative errors of the dequeue rates. */
  medianError: number;
}

export interface AgreementRow {
  kind: ModelWorkload['kind'];
  params: MeasuredPoint['params'];
  dequeuePerSec: Comparison;
  enqueuePerSec: Comparison;
  cpuUsPerMessage: Comparison;
  dequeueCallMs: TimeComparison;
  latencyMs: TimeComparison;
  /** The simulated bottleneck; null if no resource is in use for more than half of the time. */
  bottleneck: ReturnType<typeof bottleneckOf>;
}

/** Comparison of medians. Inside: the simulated one is between 0.8 × p50 and p90 of the run. */
export interface TimeComparison extends Comparison {
  inside: boolean;
}

export interface Comparison {
  measured: number;
  simulated: number;
  /** Simulated ÷ measured − 1. */
  error: number;
}

/** The model aims at this for rates. */
export const agreementAim = 0.2;

export function compareWithMeasured(
  costs: ClusterCosts,
  points: readonly MeasuredPoint[],
  options: AgreementOptions,
): Agreement {
  const tripMs = emulatedTrips(points);
  const rows = points.map((point) =>
    compare(costs, point, { ...options, roundTripMs: tripMs.get(point.params.roundTripMs)! }),
  );
  const errors = rows.map((row) => Math.abs(row.dequeuePerSec.error));
  return {
    rows,
    within: errors.filter((error) => error <= agreementAim).length,
    medianError: median(errors),
  };
}

/**
 * The actual mean round trip by the requested one, milliseconds. Timers have a resolution of 1 ms and are late on a busy
 * thread. The minimum over all points excludes that lateness, which the model adds itself.
 */
function emulatedTrips(points: readonly MeasuredPoint[]): Map<number, number> {
  const found = new Map<number, number>();
  for (const { params, waits = [] } of points) {
    const trips = waits.find(({ event }) => event === 'client round trip');
    const mean = params.roundTripMs > 0 && trips ? trips.totalMs / trips.waits : params.roundTripMs;
    found.set(params.roundTripMs, Math.min(mean, found.get(params.roundTripMs) ?? mean));
  }
  return found;
}

function compare(
  costs: ClusterCosts,
  point: MeasuredPoint,
  options: AgreementOptions & { roundTripMs: number },
): AgreementRow {
  const { seed = 1, backlogMax, durability, phases, roundTripMs } = options;
  const { instances, threads, payloadBytes, operationsPerTransaction } = point.params;
  const { subscribers = 1 } = point.params;
  const simulated = simulate({
    costs,
    seed,
    workload: {
      kind: point.kind,
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
  return {
    kind: point.kind,
    params: point.params,
    dequeuePerSec: comparison(point.dequeuePerSec, simulated.dequeuePerSec),
    enqueuePerSec: comparison(point.enqueuePerSec, simulated.enqueuePerSec),
    cpuUsPerMessage: comparison(point.cpuUsPerMessage, simulated.cpuUsPerMessage),
    dequeueCallMs: timeComparison(point.dequeueCallMs, simulated.dequeueCallMs.p50),
    latencyMs: timeComparison(point.latencyMs, simulated.latencyMs.p50),
    bottleneck: bottleneckOf(simulated.use),
  };
}

function comparison(measured: number, simulated: number): Comparison {
  return { measured, simulated, error: simulated / measured - 1 };
}

function timeComparison({ p50, p90 }: { p50: number; p90: number }, simulated: number): TimeComparison {
  return { ...comparison(p50, simulated), inside: simulated >= 0.8 * p50 && simulated <= p90 };
}
