/** Turns samples into what the time chart draws: lines, bands and stacks, all over the run's one time axis. */
import type { Implementation } from '@shardlab/contract';
import type { TimeSample, TrialSamples } from './time-series.ts';
import { waitClasses } from './time-series.ts';

export interface TimePoint {
  atMs: number;
  value: number;
}

export interface TimeLine {
  id: string;
  implementation: Implementation;
  roundTripMs: number;
  /** The main line of a chart is heavier than the one it is compared with. */
  weight: 'main' | 'side';
  points: TimePoint[];
}

export interface TimeBand {
  id: string;
  implementation: Implementation;
  points: { atMs: number; low: number; high: number }[];
}

/** One layer of a stack in one trial; `low` and `high` are the sums under and with it. */
export interface TimeLayer {
  id: string;
  /** Names the colour: a wait class, or an instance of an implementation. */
  kind: { wait: string } | { implementation: Implementation; instance: number };
  points: { atMs: number; low: number; high: number }[];
}

/** Something that happened, marked over the whole height of a chart. */
export interface TimeMoment {
  atMs: number;
  label: string;
}

export interface TimeMarks {
  lines: TimeLine[];
  bands: TimeBand[];
  layers: TimeLayer[];
  /** The greatest value drawn, 0 without any. */
  max: number;
  /** The smallest value over 0, for a logarithmic axis; Infinity without any. */
  minPositive: number;
}

/** Enqueue and dequeue rate, messages per second over all instances. */
export function rateMarks(trials: readonly TrialSamples[]): TimeMarks {
  const line = (trial: TrialSamples, id: string, read: (sample: TimeSample) => number): TimeLine => ({
    id: `${trial.trial}/${id}`,
    implementation: trial.implementation,
    roundTripMs: trial.params.roundTripMs,
    weight: id === 'dequeue' ? 'main' : 'side',
    points: trial.samples.map((sample) => ({ atMs: sample.atMs, value: read(sample) })),
  });
  const lines = trials.flatMap((trial) => [
    line(trial, 'enqueue', (sample) => sample.enqueuePerSec),
    line(trial, 'dequeue', (sample) => sample.dequeuePerSec),
  ]);
  return withExtent({ lines, bands: [], layers: [] });
}

/** Median and the band from it to the 99th percentile, milliseconds, of the slowest instance. */
export function latencyMarks(trials: readonly TrialSamples[]): TimeMarks {
  const lines: TimeLine[] = [];
  const bands: TimeBand[] = [];
  for (const { trial, implementation, params, samples } of trials) {
    const known = samples.flatMap(({ atMs, latency }) => (latency === null ? [] : [{ atMs, ...latency }]));
    const points = known.map(({ atMs, p50 }) => ({ atMs, value: p50 }));
    lines.push({
      id: `${trial}/p50`,
      implementation,
      roundTripMs: params.roundTripMs,
      weight: 'main',
      points,
    });
    bands.push({
      id: `${trial}/p99`,
      implementation,
      points: known.map(({ atMs, p50, p99 }) => ({ atMs, low: p50, high: p99 })),
    });
  }
  return withExtent({ lines, bands, layers: [] });
}

/** Cores kept busy, one layer for each instance. */
export function cpuMarks(trials: readonly TrialSamples[]): TimeMarks {
  const layers = trials.flatMap((trial) =>
    stack(
      trial,
      Array.from({ length: trial.params.instances }, (_, index) => ({
        kind: { implementation: trial.implementation, instance: index + 1 },
        read: (sample: TimeSample) => sample.cpu[index] ?? 0,
      })),
    ),
  );
  return withExtent({ lines: [], bands: [], layers });
}

/** Average active sessions: on CPU at the bottom, then waiting by class. Idle waits are left out. */
export function waitMarks(trials: readonly TrialSamples[]): TimeMarks {
  const layers = trials.flatMap((trial) =>
    stack(trial, [
      {
        kind: { wait: 'cpu' },
        read: (sample: TimeSample) => sample.cpu.reduce((sum, cores) => sum + cores, 0),
      },
      ...waitClasses.map((name) => ({
        kind: { wait: name },
        read: (sample: TimeSample) => sample.waits[name],
      })),
    ]),
  );
  return withExtent({ lines: [], bands: [], layers });
}

function stack(
  trial: TrialSamples,
  parts: { kind: TimeLayer['kind']; read(sample: TimeSample): number }[],
): TimeLayer[] {
  const sums = trial.samples.map(() => 0);
  return parts.map(({ kind, read }, part) => ({
    id: `${trial.trial}/${part}`,
    kind,
    points: trial.samples.map((sample, index) => {
      const low = sums[index]!;
      const high = low + read(sample);
      sums[index] = high;
      return { atMs: sample.atMs, low, high };
    }),
  }));
}

function withExtent(marks: Pick<TimeMarks, 'lines' | 'bands' | 'layers'>): TimeMarks {
  let max = 0;
  let minPositive = Number.POSITIVE_INFINITY;
  const see = (value: number) => {
    max = Math.max(max, value);
    if (value > 0) minPositive = Math.min(minPositive, value);
  };
  for (const { points } of marks.lines) for (const { value } of points) see(value);
  for (const { points } of [...marks.bands, ...marks.layers])
    for (const { low, high } of points) {
      see(low);
      see(high);
    }
  return { ...marks, max, minPositive };
}
