/** Rates and depth of a queue since its page was opened, computed from successive readings of its counters. */
import type { QueueStats } from '@shardlab/contract';
import type { DataTable } from './data-table.ts';
import type { TimeMarks } from './time-chart-data.ts';
import type { TimeRange } from './time-series.ts';

/** The counters of a queue at one time (`asOfMs`, epoch milliseconds). */
export interface QueueReading {
  asOfMs: number;
  enqueued: number;
  consumed: number;
  depth: number;
}

export interface QueueSample {
  /** Time since the first reading. */
  atMs: number;
  enqueuePerSec: number;
  dequeuePerSec: number;
  depth: number;
}

/** Five minutes at one reading per second. */
const readingsMax = 300;
/** The least time range of the chart, so that the first seconds do not fill it. */
const rangeMsMin = 30_000;

/**
 * Adds a reading if it is newer than the last one. Counters that went down come from an answer that lacks an instance
 * of the cluster; such a reading is dropped.
 */
export function addReading(
  readings: readonly QueueReading[],
  { asOfMs, total }: QueueStats,
): readonly QueueReading[] {
  const last = readings.at(-1);
  if (last !== undefined && asOfMs <= last.asOfMs) return readings;
  const { enqueued, consumed, depth } = total;
  if (last !== undefined && (enqueued < last.enqueued || consumed < last.consumed)) return readings;
  return [...readings.slice(1 - readingsMax), { asOfMs, enqueued, consumed, depth }];
}

export function queueSamples(readings: readonly QueueReading[]): QueueSample[] {
  const startMs = readings[0]?.asOfMs ?? 0;
  return readings.slice(1).map((reading, index) => {
    const before = readings[index]!;
    const perSec = (count: number) => (count * 1000) / (reading.asOfMs - before.asOfMs);
    return {
      atMs: reading.asOfMs - startMs,
      enqueuePerSec: perSec(reading.enqueued - before.enqueued),
      dequeuePerSec: perSec(reading.consumed - before.consumed),
      depth: reading.depth,
    };
  });
}

export function queueRange(samples: readonly QueueSample[]): TimeRange {
  const [fromMs, lastMs] = [samples[0]?.atMs ?? 0, samples.at(-1)?.atMs ?? 0];
  return { fromMs, toMs: Math.max(fromMs + rangeMsMin, lastMs) };
}

export function queueMarks(samples: readonly QueueSample[], kind: QueueStats['kind']): TimeMarks {
  const line = (id: string, role: 'primary' | 'secondary', read: (sample: QueueSample) => number) => {
    const points = samples.map((sample) => ({ atMs: sample.atMs, value: read(sample) }));
    return { id, system: kind, roundTripMs: 0, role, points };
  };
  return {
    lines: [
      line('enqueued', 'secondary', (sample) => sample.enqueuePerSec),
      line('dequeued', 'primary', (sample) => sample.dequeuePerSec),
    ],
    bands: [],
    layers: [],
    max: Math.max(
      0,
      ...samples.flatMap(({ enqueuePerSec, dequeuePerSec }) => [enqueuePerSec, dequeuePerSec]),
    ),
    minPositive: 1,
  };
}

export function queueTable(samples: readonly QueueSample[]): DataTable {
  return {
    columns: ['Seconds', 'Enqueued per second', 'Dequeued per second', 'Depth'],
    rows: samples.map(({ atMs, enqueuePerSec, dequeuePerSec, depth }) => [
      atMs / 1_000,
      enqueuePerSec,
      dequeuePerSec,
      depth,
    ]),
  };
}
