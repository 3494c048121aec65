/** The charts of a queue's past, from the samples that the server keeps. */
import type { HistoryRange, QueueSample, QueueStats } from '@shardlab/contract';
import type { DataTable } from './data-table.ts';
import type { TimeMarks } from './time-chart-data.ts';
import type { TimeRange } from './time-series.ts';

export const historyRanges: readonly { value: HistoryRange; label: string }[] = [
  { value: '10m', label: '10 minutes' },
  { value: '1h', label: 'Hour' },
  { value: '24h', label: 'Day' },
];

/** A sample with its place on the time axis. */
export interface PlacedSample extends Omit<QueueSample, 'atMs'> {
  /** Since the first sample. */
  atMs: number;
  /** Epoch milliseconds. */
  timeMs: number;
}

/** The least time range of the chart, so that the first seconds do not fill it. */
const rangeMsMin = 30_000;

export function placeSamples(samples: readonly QueueSample[]): PlacedSample[] {
  const startMs = samples[0]?.atMs ?? 0;
  return samples.map((sample) => ({ ...sample, atMs: sample.atMs - startMs, timeMs: sample.atMs }));
}

export function queueRange(samples: readonly PlacedSample[]): TimeRange {
  return { fromMs: 0, toMs: Math.max(rangeMsMin, samples.at(-1)?.atMs ?? 0) };
}

type Role = 'primary' | 'secondary';

function lineOf(
  samples: readonly PlacedSample[],
  {
    id,
    role,
    kind,
    read,
  }: { id: string; role: Role; kind: QueueStats['kind']; read(sample: PlacedSample): number | null },
) {
  const points = samples.flatMap((sample) => {
    const value = read(sample);
    return value === null ? [] : [{ atMs: sample.atMs, value }];
  });
  return { id, system: kind, roundTripMs: 0, role, points };
}

function marksOf(lines: TimeMarks['lines']): TimeMarks {
  const max = Math.max(0, ...lines.flatMap(({ points }) => points.map(({ value }) => value)));
  return { lines, bands: [], layers: [], max, minPositive: 1 };
}

export function rateMarks(samples: readonly PlacedSample[], kind: QueueStats['kind']): TimeMarks {
  return marksOf([
    lineOf(samples, { id: 'enqueued', role: 'secondary', kind, read: (sample) => sample.enqueuePerSec }),
    lineOf(samples, { id: 'dequeued', role: 'primary', kind, read: (sample) => sample.dequeuePerSec }),
  ]);
}

export function depthMarks(samples: readonly PlacedSample[], kind: QueueStats['kind']): TimeMarks {
  return marksOf([lineOf(samples, { id: 'depth', role: 'primary', kind, read: (sample) => sample.depth })]);
}

/** Seconds, since the axis has whole numbers. */
export function lagMarks(samples: readonly PlacedSample[], kind: QueueStats['kind']): TimeMarks {
  const read = ({ lagMs }: PlacedSample) => (lagMs === null ? null : lagMs / 1_000);
  return marksOf([lineOf(samples, { id: 'lag', role: 'primary', kind, read })]);
}

export function queueTable(samples: readonly PlacedSample[]): DataTable {
  return {
    columns: ['Time', 'Enqueued per second', 'Dequeued per second', 'Depth', 'Lag ms'],
    rows: samples.map(({ timeMs, enqueuePerSec, dequeuePerSec, depth, lagMs }) => [
      new Date(timeMs).toISOString(),
      enqueuePerSec,
      dequeuePerSec,
      depth,
      lagMs,
    ]),
  };
}
