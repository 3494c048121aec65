/** What the pages of the study of listening compute: reports of the two methods, and gets next to the formula and the document. */
import type { DocumentTable, Figure, Point, WaitSummary } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import { deviationInWords, getsRows, getsSeries } from '../src/model/gets-model.ts';
import { methodReports } from '../src/model/method-report.ts';
import { point } from './fixtures/points.ts';

const figure = (value: number): Figure => ({ value, unit: '', provenance: 'measured', repeats: [value] });

function listenPoint(
  params: { method?: string; pairs: number; copies?: number },
  figures: Record<string, number> = {},
  waits: WaitSummary[] = [],
): Point {
  return {
    ...point(),
    program: 'listen',
    system: 'shared-topic',
    params: { subscribers: 100, copies: 1, method: 'listen', ...params },
    figures: Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, figure(value)])),
    byInstance: { cpuShare: [1.5] },
    waits,
    repeats: [1, 2].map(() => ({ measuredMs: 10_000, byInstance: {}, waitMs: {} })),
  };
}

const table = (id: string, columns: string[], rows: DocumentTable['rows']): DocumentTable => ({
  id,
  title: '',
  source: '',
  columns: columns.map((name) => ({ name, title: name })),
  rows,
});

describe('the top events of both methods', () => {
  const wait = (event: string, totalMs: number): WaitSummary => ({
    event,
    class: 'concurrency',
    waits: 40,
    totalMs,
    p99Ms: 1,
    emulated: false,
  });
  const points = [16, 80].flatMap((pairs) =>
    [1, 254].flatMap((copies) => [
      listenPoint({ method: 'listen', pairs, copies }, { dequeuePerSec: 50 }, [
        wait('library cache: mutex X', 30_000),
        wait('log file sync', 10_000),
      ]),
      listenPoint({ method: 'subscriber', pairs, copies }, { dequeuePerSec: 200 }, [
        wait('log file sync', 8_000),
      ]),
    ]),
  );
  const topEvents = table(
    'top-events',
    ['method', 'event', 'waits', 'seconds', 'shareOfTime'],
    [
      ['listen', 'library cache: mutex X', 1_000, 47_000, 0.8],
      ['subscriber', 'log file sync', 2_000, 500, 0.4],
    ],
  );

  test('are those of the chosen point and of the one that differs in the method only', () => {
    const chosen = points.find(
      ({ params }) => params.pairs === 16 && params.copies === 254 && params.method === 'subscriber',
    )!;
    const found = methodReports(points, chosen, topEvents)!;
    expect([found.pairs, found.copies]).toEqual([16, 254]);
    const [listen, subscriber] = found.reports;
    expect(listen).toMatchObject({
      method: 'listen',
      messagesPerSec: 50,
      coresBusy: 1.5,
      measuredMs: 20_000,
    });
    expect(subscriber!.point).toBe(chosen);
    // In two repeats of ten seconds, 30 s of waits are 1.5 sessions, of 2 that are active in waits for the mutex and for syncs.
    expect(listen!.events.find(({ event }) => event === 'library cache: mutex X')).toMatchObject({
      waits: 40,
      seconds: 30,
    });
    const shares = listen!.events.map(({ share }) => share);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
    expect(shares).toEqual(shares.toSorted((a, b) => b - a));
    expect(listen!.document).toEqual([
      { event: 'library cache: mutex X', waits: 1_000, seconds: 47_000, share: 0.8 },
    ]);
    expect(subscriber!.document.map(({ event }) => event)).toEqual(['log file sync']);
  });

  test('are those with the most sessions if the chosen point has no counterpart, and none if no point has', () => {
    const alone = listenPoint({ pairs: 4 });
    expect(methodReports([alone, ...points], alone, topEvents)).toMatchObject({ pairs: 80, copies: 1 });
    expect(methodReports([alone], alone, topEvents)).toBeUndefined();
    expect(methodReports(points, alone, undefined)!.reports[0]!.document).toEqual([]);
  });
});

describe('gets over the pairs of sessions', () => {
  const tables = {
    pairs: table(
      'pairs',
      ['pairs', 'mutexGetsPerDequeue', 'latchGetsPerDequeue'],
      [
        [1, 12, 6],
        [4, 40, null],
        [64, 500, 300],
      ],
    ),
    model: table(
      'model',
      ['guard', 'getsPerSession'],
      [
        ['mutex', 12],
        ['latch', 6],
      ],
    ),
  };
  const points = [
    listenPoint(
      { pairs: 4 },
      { mutexGetsPerDequeue: 36, latchGetsPerDequeue: 20, mutexMisses: 7, mutexSleeps: 2 },
    ),
    listenPoint(
      { pairs: 16 },
      {
        mutexGetsPerDequeue: 96,
        mutexMisses: 30,
        mutexSleeps: 4,
        wakeUpsPerDequeue: 8.04,
        postsPerWakeUp: 2.5,
      },
    ),
    listenPoint({ pairs: 16, copies: 254 }, { mutexGetsPerDequeue: 1 }),
    listenPoint({ pairs: 16, method: 'subscriber' }, { mutexGetsPerDequeue: 2 }),
  ];

  test('have a row for each number of pairs in the document or in our points, on one copy and with listen', () => {
    const rows = getsRows(points, 'mutex', tables);
    expect(rows.map(({ pairs, formula, document, ours }) => [pairs, formula, document, ours])).toEqual([
      [1, 12, 12, null],
      [4, 48, 40, 36],
      [16, 192, null, 96],
      [64, 768, 500, null],
    ]);
    expect(rows[1]).toMatchObject({ misses: 7, sleeps: 2, wakeUps: null, postsPerWakeUp: null });
    const latch = getsRows(points, 'latch', tables);
    expect(latch.map(({ pairs, formula, document, ours }) => [pairs, formula, document, ours])).toEqual([
      [1, 6, 6, null],
      [4, 24, null, 20],
      [16, 96, null, null],
      [64, 384, 300, null],
    ]);
  });

  test('are drawn as lines, except those without a point', () => {
    const lines = (all: readonly Point[]) =>
      getsSeries(getsRows(all, 'mutex', tables), 'mutex').map(({ system, points: drawn }) => [
        system,
        drawn.map(({ x, value }) => [x, value]),
      ]);
    expect(lines(points)).toContainEqual([
      'measured here',
      [
        [4, 36],
        [16, 96],
      ],
    ]);
    expect(lines([]).map(([system]) => system)).toEqual(['the formula', 'the document']);
  });

  test('are compared with the formula in words: how much they differ at the most pairs, and why', () => {
    expect(deviationInWords(getsRows(points, 'mutex', tables))).toBe(
      'At 16 pairs we count 50 % of the formula: 8.0 wake-ups a dequeue instead of 16, because posts fall together (2.5 in a wake-up); 30 misses and 4 sleeps.',
    );
    expect(deviationInWords(getsRows(points.slice(0, 1), 'mutex', tables))).toBe(
      'At 4 pairs we count 75 % of the formula; 7 misses and 2 sleeps.',
    );
    expect(deviationInWords(getsRows([], 'mutex', tables))).toBe('');
  });
});
