/** The samples of the time charts, made from binned ticks. All times are milliseconds since the start of the run. */
import type { Tick } from '@shardlab/contract';
import { binTicks, meanOver, type TickBin, type TrialTicks } from './tick-bins.ts';

export const waitClasses = ['commit', 'concurrency', 'configuration', 'network'] as const;
export type ShownWaitClass = (typeof waitClasses)[number];

/** One bin of a trial, over all its instances. */
export interface TimeSample {
  atMs: number;
  enqueuePerSec: number;
  dequeuePerSec: number;
  /**
   * Latency of the slowest tick and instance of the bin, since percentiles cannot be averaged. Null if nothing was
   * delivered.
   */
  latency: { p50: number; p99: number; instance: number } | null;
  /** Messages enqueued and not yet consumed, at the end of the bin. */
  backlog: number;
  /** Cores kept busy by each instance, in the order of the tick. */
  cpu: number[];
  /** Average number of sessions in each wait class: time waited ÷ time elapsed. */
  waits: Record<ShownWaitClass, number>;
}

export interface TrialSamples {
  trial: number;
  system: string;
  params: Tick['params'];
  fromMs: number;
  toMs: number;
  samples: TimeSample[];
}

/** A series of samples that the time cursor can step through. */
export interface SampledSeries {
  samples: readonly { atMs: number }[];
}

export interface TimeRange {
  fromMs: number;
  toMs: number;
}

/** The samples of a time range by trial. `binsMax` bounds their number, whatever the length of the run. */
export function timeSamples(ticks: readonly Tick[], range: TimeRange, binsMax = 400): TrialSamples[] {
  return binTicks(ticks, { ...range, binsMax }).map(trialSamples);
}

function trialSamples(trial: TrialTicks): TrialSamples {
  const { system, params } = trial.first;
  const { fromMs, toMs } = trial;
  return { trial: trial.trial, system, params, fromMs, toMs, samples: trial.bins.map(sampleOf) };
}

function sampleOf(bin: TickBin): TimeSample {
  const instances = Math.max(...bin.ticks.map(({ instances }) => instances.length));
  return {
    atMs: bin.atMs,
    enqueuePerSec: meanOver(bin, (tick) => sumOf(tick, (sample) => sample.enqueuePerSec)),
    dequeuePerSec: meanOver(bin, (tick) => sumOf(tick, (sample) => sample.dequeuePerSec)),
    latency: slowest(bin),
    backlog: backlogOf(bin.ticks.at(-1)!),
    cpu: Array.from({ length: instances }, (_, index) =>
      meanOver(bin, (tick) => tick.instances[index]?.cpu ?? 0),
    ),
    waits: activeSessions(bin),
  };
}

const sumOf = (tick: Tick, read: (sample: Tick['instances'][number]) => number): number =>
  tick.instances.reduce((sum, sample) => sum + read(sample), 0);

/**
 * Instances of a sharded queue, which alone has partitions, have parts of the backlog. Others share one table, which each reports at
 * a slightly different time. A queue that is converted is one and then the other.
 */
function backlogOf({ instances }: Tick): number {
  const each = instances.map(({ shards }) => shards.reduce((sum, { backlog }) => sum + backlog, 0));
  const isSharded = instances.some(({ shards }) => shards.some(({ partitions }) => partitions.length > 0));
  return isSharded ? each.reduce((sum, backlog) => sum + backlog, 0) : Math.max(0, ...each);
}

function slowest(bin: TickBin): TimeSample['latency'] {
  let worst: TimeSample['latency'] = null;
  for (const tick of bin.ticks)
    for (const { instance, latencyMs } of tick.instances)
      if (latencyMs.p99 > (worst?.p99 ?? 0)) worst = { ...latencyMs, instance };
  return worst;
}

function activeSessions(bin: TickBin): TimeSample['waits'] {
  const ofClass = (name: ShownWaitClass): number =>
    bin.ticks.reduce((sum, tick) => sum + sumOf(tick, (sample) => sample.waitMsByClass[name] ?? 0), 0) /
    bin.spanMs;
  return {
    commit: ofClass('commit'),
    concurrency: ofClass('concurrency'),
    configuration: ofClass('configuration'),
    network: ofClass('network'),
  };
}

/** The time range of all ticks, or of those that `isShown` accepts; at least one second wide. */
export function timeRange(ticks: readonly Tick[], isShown?: (tick: Tick) => boolean): TimeRange {
  if (isShown !== undefined) {
    const shown = ticks.filter(isShown);
    const [first, last] = [shown[0], shown.at(-1)];
    if (first !== undefined && last !== undefined)
      return { fromMs: Math.max(0, first.atMs - 250), toMs: Math.max(last.atMs, first.atMs + 750) };
  }
  return { fromMs: 0, toMs: Math.max(1_000, ticks.at(-1)?.atMs ?? 0) };
}

/** The sample nearest to a time among all trials; null if there are none. */
export function sampleAt(
  trials: readonly TrialSamples[],
  atMs: number,
): { trial: TrialSamples; sample: TimeSample } | null {
  let nearest: { trial: TrialSamples; sample: TimeSample } | null = null;
  for (const trial of trials)
    for (const sample of trial.samples)
      if (nearest === null || Math.abs(sample.atMs - atMs) < Math.abs(nearest.sample.atMs - atMs))
        nearest = { trial, sample };
  return nearest;
}

/** The last tick at or before a time, or else the first tick. Binary search. */
export function tickAt(ticks: readonly Tick[], atMs: number): Tick | null {
  let low = 0;
  let high = ticks.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (ticks[middle]!.atMs <= atMs) low = middle;
    else high = middle - 1;
  }
  return ticks[low] ?? null;
}

/**
 * The time of the sample that lies `steps` away from the one nearest to `atMs`: where an arrow key moves the cursor.
 */
export function stepTime(
  trials: readonly SampledSeries[],
  atMs: number | null,
  steps: number,
): number | null {
  const times = trials.flatMap((trial) => trial.samples.map((sample) => sample.atMs));
  if (times.length === 0) return null;
  if (atMs === null) return steps < 0 ? times.at(-1)! : times[0]!;
  const nearest = times.reduce(
    (best, time, index) => (Math.abs(time - atMs) < Math.abs(times[best]! - atMs) ? index : best),
    0,
  );
  return times[Math.min(times.length - 1, Math.max(0, nearest + steps))]!;
}
