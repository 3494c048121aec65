/** The charts of a queue's past, from the samples that the server keeps. */
import type { HistoryRange, QueueSample, QueueStats } from '@shardlab/contract';
import type { DataTable } from './data-table.ts';
import type { TimeLine, TimeMarks, TimePoint } from './time-chart-data.ts';
import type { TimeRange } from './time-series.ts';

export const historyRanges: readonly { value: HistoryRange; label: string }[] = [
  { value: '10m', label: '10 minutes' },
  { value: '1h', label: 'Hour' },
  { value: '24h', label: 'Day' },
];

/** A sample with its place on the time axis. */
export interface PlacedSample extends QueueSample {
  /** Epoch milliseconds; `atMs` and `sinceMs` count from the start of the first sample. */
  timeMs: number;
}

/** The least time range of the chart, so that the first seconds do not fill it. */
const rangeMsMin = 30_000;

export function placeSamples(samples: readonly QueueSample[]): PlacedSample[] {
  const startMs = samples[0]?.sinceMs ?? 0;
  return samples.map((sample) => ({
    ...sample,
    atMs: sample.atMs - startMs,
    sinceMs: sample.sinceMs - startMs,
    timeMs: sample.atMs,
  }));
}

export function queueRange(samples: readonly PlacedSample[]): TimeRange {
  return { fromMs: 0, toMs: Math.max(rangeMsMin, samples.at(-1)?.atMs ?? 0) };
}

type Spanned = Pick<QueueSample, 'atMs' | 'sinceMs'>;

const followsGap = ({ sinceMs }: Spanned, before: Spanned | undefined): boolean =>
  before !== undefined && sinceMs > before.atMs;

/** Times between samples in which nothing was sampled. */
export function gapCount(samples: readonly Spanned[]): number {
  return samples.filter((sample, index) => followsGap(sample, samples[index - 1])).length;
}

/**
 * The points of a line in stretches: it breaks at gaps and where the value is not known. A sample that is alone is as wide as the
 * time that it stands for.
 */
export function stretchesOf<Sample extends Spanned>(
  samples: readonly Sample[],
  read: (sample: Sample) => number | null,
): TimePoint[][] {
  const stretches: { first: Sample; points: TimePoint[] }[] = [];
  let before: Sample | undefined;
  for (const sample of samples) {
    const value = read(sample);
    const isNew = before === undefined || followsGap(sample, before);
    before = value === null ? undefined : sample;
    if (value === null) continue;
    if (isNew) stretches.push({ first: sample, points: [] });
    stretches.at(-1)!.points.push({ atMs: sample.atMs, value });
  }
  return stretches.map(({ first, points }) =>
    points.length > 1 ? points : [{ ...points[0]!, atMs: first.sinceMs }, ...points],
  );
}

interface LineOptions {
  id: string;
  role: TimeLine['role'];
  read(sample: PlacedSample): number | null;
}

function marksOf(
  samples: readonly PlacedSample[],
  kind: QueueStats['kind'],
  options: readonly LineOptions[],
): TimeMarks {
  const lines = options.flatMap(({ id, role, read }) =>
    stretchesOf(samples, read).map((points, index) => ({
      id: `${id} ${index}`,
      system: kind,
      roundTripMs: 0,
      role,
      points,
    })),
  );
  const max = Math.max(0, ...lines.flatMap(({ points }) => points.map(({ value }) => value)));
  return { lines, bands: [], layers: [], max, minPositive: 1 };
}

export function rateMarks(samples: readonly PlacedSample[], kind: QueueStats['kind']): TimeMarks {
  return marksOf(samples, kind, [
    { id: 'enqueued', role: 'secondary', read: (sample) => sample.enqueuePerSec },
    { id: 'dequeued', role: 'primary', read: (sample) => sample.dequeuePerSec },
  ]);
}

export function depthMarks(samples: readonly PlacedSample[], kind: QueueStats['kind']): TimeMarks {
  return marksOf(samples, kind, [{ id: 'depth', role: 'primary', read: (sample) => sample.depth }]);
}

/** Milliseconds. */
export function latencyMarks(samples: readonly PlacedSample[], kind: QueueStats['kind']): TimeMarks {
  return marksOf(samples, kind, [
    { id: 'p99', role: 'secondary', read: ({ latencyMs }) => latencyMs?.p99 ?? null },
    { id: 'p50', role: 'primary', read: ({ latencyMs }) => latencyMs?.p50 ?? null },
  ]);
}

/** Seconds, since the axis has whole numbers. */
export function lagMarks(samples: readonly PlacedSample[], kind: QueueStats['kind']): TimeMarks {
  const read = ({ lagMs }: PlacedSample) => (lagMs === null ? null : lagMs / 1_000);
  return marksOf(samples, kind, [{ id: 'lag', role: 'primary', read }]);
}

export function queueTable(samples: readonly PlacedSample[]): DataTable {
  return {
    columns: [
      'Time',
      'Enqueued per second',
      'Dequeued per second',
      'Depth',
      'Latency p50 ms',
      'Latency p99 ms',
      'Lag ms',
    ],
    rows: samples.map(({ timeMs, enqueuePerSec, dequeuePerSec, depth, latencyMs, lagMs }) => [
      new Date(timeMs).toISOString(),
      enqueuePerSec,
      dequeuePerSec,
      depth,
      latencyMs?.p50 ?? null,
      latencyMs?.p99 ?? null,
      lagMs,
    ]),
  };
}
