/** Turns samples into the marks of a time chart: lines, bands and stacked layers over one time axis. */
import { numberParam, scenarioLimits } from '@shardlab/contract';
import type { TimeSample, TrialSamples } from './time-series.ts';
import { waitClasses } from './time-series.ts';

export interface TimePoint {
  atMs: number;
  value: number;
}

export interface TimeLine {
  id: string;
  system: string;
  roundTripMs: number;
  /** The primary line of a chart is drawn heavier than the line it is compared with. */
  role: 'primary' | 'secondary';
  points: TimePoint[];
}

export interface TimeBand {
  id: string;
  system: string;
  points: { atMs: number; low: number; high: number }[];
}

/** One layer of a stack in one trial: `low` is the sum of the layers below, `high` adds its own value. */
export interface TimeLayer {
  id: string;
  /** Determines the colour: a wait class, or an instance of an system. */
  kind: { wait: string } | { system: string; instance: number };
  points: { atMs: number; low: number; high: number }[];
}

/** An event, drawn as a vertical line with a label. */
export interface TimeAnnotation {
  atMs: number;
  label: string;
}

export interface TimeMarks {
  lines: TimeLine[];
  bands: TimeBand[];
  layers: TimeLayer[];
  /** The greatest value drawn; 0 if there is none. */
  max: number;
  /** The smallest positive value, for a logarithmic axis; Infinity if there is none. */
  minPositive: number;
}

export const hasValues = ({ lines, bands, layers }: TimeMarks): boolean =>
  [...lines, ...bands, ...layers].some(({ points }) => points.length > 0);

/** A reference far above the values would flatten them, so it is null then. */
export const shownReference = (reference: number | null, { max }: Pick<TimeMarks, 'max'>): number | null =>
  reference !== null && reference <= max * 4 ? reference : null;

/** Enqueue and dequeue rate: messages per second, sum of all instances. */
export function rateMarks(trials: readonly TrialSamples[]): TimeMarks {
  const line = (trial: TrialSamples, id: string, read: (sample: TimeSample) => number): TimeLine => ({
    id: `${trial.trial}/${id}`,
    system: trial.system,
    roundTripMs: numberParam(trial.params, 'roundTripMs'),
    role: id === 'dequeue' ? 'primary' : 'secondary',
    points: trial.samples.map((sample) => ({ atMs: sample.atMs, value: read(sample) })),
  });
  const lines = trials.flatMap((trial) => [
    line(trial, 'enqueue', (sample) => sample.enqueuePerSec),
    line(trial, 'dequeue', (sample) => sample.dequeuePerSec),
  ]);
  return withExtent({ lines, bands: [], layers: [] });
}

/** Latency of the slowest instance in milliseconds: the median, and a band up to the 99th percentile. */
export function latencyMarks(trials: readonly TrialSamples[]): TimeMarks {
  const lines: TimeLine[] = [];
  const bands: TimeBand[] = [];
  for (const { trial, system, params, samples } of trials) {
    const known = samples.flatMap(({ atMs, latency }) => (latency === null ? [] : [{ atMs, ...latency }]));
    const points = known.map(({ atMs, p50 }) => ({ atMs, value: p50 }));
    lines.push({
      id: `${trial}/p50`,
      system,
      roundTripMs: numberParam(params, 'roundTripMs'),
      role: 'primary',
      points,
    });
    bands.push({
      id: `${trial}/p99`,
      system,
      points: known.map(({ atMs, p50, p99 }) => ({ atMs, low: p50, high: p99 })),
    });
  }
  return withExtent({ lines, bands, layers: [] });
}

/** Messages enqueued and not yet consumed. */
export function backlogMarks(trials: readonly TrialSamples[]): TimeMarks {
  const lines = trials.map(
    ({ trial, system, params, samples }): TimeLine => ({
      id: `${trial}/backlog`,
      system,
      roundTripMs: numberParam(params, 'roundTripMs'),
      role: 'primary',
      points: samples.map(({ atMs, backlog }) => ({ atMs, value: backlog })),
    }),
  );
  return withExtent({ lines, bands: [], layers: [] });
}

/** An imported run may have any number as a parameter that its program does not know. */
const instancesOf = ({ params }: TrialSamples): number =>
  Math.min(scenarioLimits.instancesMax, Math.max(1, Math.floor(numberParam(params, 'instances'))));

/** Cores kept busy, one layer per instance. */
export function cpuMarks(trials: readonly TrialSamples[]): TimeMarks {
  const layers = trials.flatMap((trial) =>
    stack(
      trial,
      Array.from({ length: instancesOf(trial) }, (_, index) => ({
        kind: { system: trial.system, instance: index + 1 },
        read: (sample: TimeSample) => sample.cpu[index] ?? 0,
      })),
    ),
  );
  return withExtent({ lines: [], bands: [], layers });
}

/** Average active sessions: on CPU at the bottom, then waiting by wait class. Idle waits are excluded. */
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
  const include = (value: number) => {
    max = Math.max(max, value);
    if (value > 0) minPositive = Math.min(minPositive, value);
  };
  for (const { points } of marks.lines) for (const { value } of points) include(value);
  for (const { points } of [...marks.bands, ...marks.layers])
    for (const { low, high } of points) {
      include(low);
      include(high);
    }
  return { ...marks, max, minPositive };
}
