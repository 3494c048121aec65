/** The throughput of a load over its time, with what happened to the cluster meanwhile. */
import type { ClusterEvent, ClusterLoad } from '@shardlab/contract';
import { eventMark } from './cluster-words.ts';
import type { DataTable } from './csv.ts';
import type { TimeMarks, TimeMoment } from './time-chart-data.ts';
import type { TimeRange } from './time-series.ts';

/** Wide enough that the first seconds do not fill the chart while more are to come. */
const spanMsMin = { goingOn: 15_000, done: 1_000 } as const;

export function loadRange({ samples, state }: ClusterLoad): TimeRange {
  const least = state === 'done' ? spanMsMin.done : spanMsMin.goingOn;
  return { fromMs: 0, toMs: Math.max(least, samples.at(-1)?.atMs ?? 0) };
}

export function loadMarks({ samples }: ClusterLoad): TimeMarks {
  const line = (id: string, weight: 'main' | 'side', read: (sample: (typeof samples)[number]) => number) => {
    const points = samples.map((sample) => ({ atMs: sample.atMs, value: read(sample) }));
    return { id, implementation: 'sharded' as const, roundTripMs: 0, weight, points };
  };
  const values = samples.flatMap(({ acknowledgedPerSec, consumedPerSec }) => [
    acknowledgedPerSec,
    consumedPerSec,
  ]);
  return {
    lines: [
      line('acknowledged', 'side', (sample) => sample.acknowledgedPerSec),
      line('consumed', 'main', (sample) => sample.consumedPerSec),
    ],
    bands: [],
    layers: [],
    max: Math.max(0, ...values),
    minPositive: 1,
  };
}

export function loadMoments(load: ClusterLoad, events: readonly ClusterEvent[]): TimeMoment[] {
  const { toMs } = loadRange(load);
  return events.flatMap((event) => {
    const label = eventMark(event);
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
