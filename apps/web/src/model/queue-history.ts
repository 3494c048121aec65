/** What a page saw of a queue since it began to look: rates between one look and the next, and the depth. */
import type { QueueStats } from '@shardlab/contract';
import type { DataTable } from './csv.ts';
import type { TimeMarks } from './time-chart-data.ts';
import type { TimeRange } from './time-series.ts';

/** Counters as of a moment, epoch ms. */
export interface QueueLook {
  asOfMs: number;
  enqueued: number;
  consumed: number;
  depth: number;
}

export interface QueueSample {
  /** Milliseconds since the first look. */
  atMs: number;
  enqueuePerSec: number;
  dequeuePerSec: number;
  depth: number;
}

/** Five minutes of looks, a second apart. */
const looksMax = 300;
/** Wide enough that the first seconds do not fill the chart while more are to come. */
const spanMsMin = 30_000;

/** Adds what was seen, unless it is no newer than the last look. A cluster that answers in part counts for nothing. */
export function withLook(looks: readonly QueueLook[], { asOfMs, total }: QueueStats): readonly QueueLook[] {
  const last = looks.at(-1);
  if (last !== undefined && asOfMs <= last.asOfMs) return looks;
  const { enqueued, consumed, depth } = total;
  if (last !== undefined && (enqueued < last.enqueued || consumed < last.consumed)) return looks;
  return [...looks.slice(1 - looksMax), { asOfMs, enqueued, consumed, depth }];
}

export function queueSamples(looks: readonly QueueLook[]): QueueSample[] {
  const startMs = looks[0]?.asOfMs ?? 0;
  return looks.slice(1).map((look, index) => {
    const before = looks[index]!;
    const perSec = (count: number) => (count * 1000) / (look.asOfMs - before.asOfMs);
    return {
      atMs: look.asOfMs - startMs,
      enqueuePerSec: perSec(look.enqueued - before.enqueued),
      dequeuePerSec: perSec(look.consumed - before.consumed),
      depth: look.depth,
    };
  });
}

export function queueRange(samples: readonly QueueSample[]): TimeRange {
  const [fromMs, lastMs] = [samples[0]?.atMs ?? 0, samples.at(-1)?.atMs ?? 0];
  return { fromMs, toMs: Math.max(fromMs + spanMsMin, lastMs) };
}

export function queueMarks(samples: readonly QueueSample[], kind: QueueStats['kind']): TimeMarks {
  const line = (id: string, weight: 'main' | 'side', read: (sample: QueueSample) => number) => {
    const points = samples.map((sample) => ({ atMs: sample.atMs, value: read(sample) }));
    return { id, implementation: kind, roundTripMs: 0, weight, points };
  };
  return {
    lines: [
      line('enqueued', 'side', (sample) => sample.enqueuePerSec),
      line('dequeued', 'main', (sample) => sample.dequeuePerSec),
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
