/** How the time of one message at a producer and at a consumer divides into waiting for the round trip and working. */
import { figureOf, type Point } from '@shardlab/contract';
import type { DataTable } from './data-table.ts';
import { formatMs } from './format.ts';

/** Times of one message, microseconds. */
export interface TripTime {
  waitUs: number;
  workUs: number;
}

export interface TripRow {
  key: string;
  /** "4 producers" */
  label: string;
  producer: TripTime | null;
  consumer: TripTime | null;
}

export interface TripGroup {
  /** The configuration. */
  title: string;
  rows: TripRow[];
}

const titles: Readonly<Record<string, string>> = {
  base: 'Base',
  quotas: 'Quotas',
  'one-way': 'Quotas, one-way sends',
  prefetch: 'Quotas, one-way sends, prefetch',
};

/** One at a time handles this many a second; the rest of its time it waits. Null if nothing passed. */
function timeOf(perSec: number, waitShare: number | undefined): TripTime | null {
  if (!(perSec > 0) || waitShare === undefined) return null;
  const us = 1e6 / perSec;
  return { waitUs: us * waitShare, workUs: us * (1 - waitShare) };
}

/** Points of the program `pipelining` whose producers send as fast as they can, by configuration. */
export function roundTrips(points: readonly Point[]): TripGroup[] {
  const shown = points.filter(
    ({ program, params }) => program === 'pipelining' && !(Number(params.sendsPerSec ?? 0) > 0),
  );
  const varying = (['producers', 'subscribers', 'payloadBytes'] as const).filter(
    (name) => name === 'producers' || new Set(shown.map(({ params }) => params[name])).size > 1,
  );
  const groups = Map.groupBy(shown, ({ params }) => String(params.configuration));
  return [...groups].map(([configuration, all]) => ({
    title: titles[configuration] ?? configuration,
    rows: all
      .toSorted((a, b) => Number(a.params.producers) - Number(b.params.producers))
      .map((point) => ({
        key: `${configuration}/${varying.map((name) => point.params[name]).join('/')}`,
        label: varying.map((name) => wordsOf[name](Number(point.params[name]))).join(', '),
        producer: timeOf(
          figureOf(point, 'sentPerSec') / Number(point.params.producers),
          point.figures.sendWaitShare?.value,
        ),
        consumer: timeOf(figureOf(point, 'messagesPerSec'), point.figures.receiveWaitShare?.value),
      })),
  }));
}

const wordsOf = {
  producers: (count: number) => `${count} ${count === 1 ? 'producer' : 'producers'}`,
  subscribers: (count: number) => `${count} ${count === 1 ? 'subscriber' : 'subscribers'}`,
  payloadBytes: (bytes: number) => `${Math.round(bytes / 102.4) / 10} KB`,
} as const;

const formatUs = (us: number) => formatMs(us / 1_000);

/** "Base, 4 producers: for each message a producer spends 400 µs, of which it waits 300 µs; a consumer spends 100 µs, …" */
export function tripInWords(title: string, { label, producer, consumer }: TripRow): string {
  const part = (name: string, time: TripTime | null) =>
    time === null
      ? `no message passed ${name}`
      : `${name} spends ${formatUs(time.waitUs + time.workUs)}, of which it waits ${formatUs(time.waitUs)}`;
  return `${title}, ${label}: for each message ${part('a producer', producer)}; ${part('a consumer', consumer)}.`;
}

export const tripTable = (groups: readonly TripGroup[]): DataTable => ({
  columns: ['Configuration', 'Point', 'End', 'Waiting (µs a message)', 'Working (µs a message)'],
  rows: groups.flatMap(({ title, rows }) =>
    rows.flatMap(({ label, producer, consumer }) =>
      (['producer', 'consumer'] as const).flatMap((end) => {
        const time = end === 'producer' ? producer : consumer;
        return time === null ? [] : [[title, label, end, time.waitUs, time.workUs]];
      }),
    ),
  ),
});
