/** Data for the chart of a load: its throughput over time, and the cluster events during it. */
import type { ClusterEvent, ClusterLoad } from '@shardlab/contract';
import { eventLabel } from './cluster-event-text.ts';
import type { DataTable } from './data-table.ts';
import type { TimeAnnotation, TimeMarks } from './time-chart-data.ts';
import type { TimeRange } from './time-series.ts';

/**
 * The least time range of the chart. While the load runs it is wide, so that the first seconds do not fill the chart.
 */
const rangeMsMin = { running: 15_000, done: 1_000 } as const;

export function loadRange({ samples, state }: ClusterLoad): TimeRange {
  const least = state === 'done' ? rangeMsMin.done : rangeMsMin.running;
  return { fromMs: 0, toMs: Math.max(least, samples.at(-1)?.atMs ?? 0) };
}

export function loadMarks({ samples }: ClusterLoad): TimeMarks {
  const line = (
    id: string,
    role: 'primary' | 'secondary',
    read: (sample: (typeof samples)[number]) => number,
  ) => {
    const points = samples.map((sample) => ({ atMs: sample.atMs, value: read(sample) }));
    return { id, system: 'sharded' as const, roundTripMs: 0, role, points };
  };
  const values = samples.flatMap(({ acknowledgedPerSec, consumedPerSec }) => [
    acknowledgedPerSec,
    consumedPerSec,
  ]);
  return {
    lines: [
      line('acknowledged', 'secondary', (sample) => sample.acknowledgedPerSec),
      line('consumed', 'primary', (sample) => sample.consumedPerSec),
    ],
    bands: [],
    layers: [],
    max: Math.max(0, ...values),
    minPositive: 1,
  };
}

export function loadAnnotations(load: ClusterLoad, events: readonly ClusterEvent[]): TimeAnnotation[] {
  const { toMs } = loadRange(load);
  return events.flatMap((event) => {
    const label = eventLabel(event);
    const atMs = event.atMs - load.startedAtMs;
    return label === null || atMs < 0 || atMs > toMs ? [] : [{ atMs, label }];
  });
}

export function loadTable({ samples }: ClusterLoad): DataTable {
  return {
    columns: ['Seconds', 'Acknowledged per second', 'Consumed per second'],
    rows: samples.map(({ atMs, acknowledgedPerSec, consumedPerSec }) => [
      atMs / 1_000,
      acknowledgedPerSec,
      consumedPerSec,
    ]),
  };
}
