/** The figures that the page of a run about listening computes from its points and from the document's tables. */
import type { DocumentTable, Point } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { wakeUpRows } from '../src/model/gets-model.ts';
import { methodReports } from '../src/model/method-report.ts';

const tableOf = (id: string, names: readonly string[], rows: DocumentTable['rows']): DocumentTable => ({
  id,
  title: id,
  source: 'the document',
  columns: names.map((name) => ({ name, title: name })),
  rows,
});
/** The columns of the document's tables that the page reads. */
const tables = {
  pairs: tableOf(
    'pairs',
    ['pairs', 'messages', 'latchGets', 'mutexGets'],
    [
      [1, 11_884, 108_318, 361_105],
      [2, 11_640, 148_303, 429_493],
      [4, 9_420, 155_862, 415_825],
      [8, 6_519, 243_571, 630_757],
      [16, 3_181, 187_259, 497_035],
      [32, 1_441, 138_192, 380_492],
      [64, 667, 93_584, 258_710],
    ],
  ),
  model: tableOf(
    'model',
    ['guard', 'getsPerSession', 'getsWokenOnce'],
    [
      ['latch', 6, 9],
      ['mutex', 12, 30],
    ],
  ),
};

const measuredMs = 10_000;
const pairs = 4;

function pointOf(method: string, figures: Record<string, number>, waits: Point['waits'] = []): Point {
  return {
    program: 'listen',
    system: 'shared-topic',
    params: { pairs, method, copies: 1 },
    figures: Object.fromEntries(
      Object.entries(figures).map(([name, value]) => [
        name,
        { value, unit: '', provenance: 'measured' as const, repeats: [value] },
      ]),
    ),
    latencies: {},
    byInstance: {},
    waits,
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    repeats: [{ measuredMs, byInstance: {}, waitMs: {} }],
  };
}

describe('wake-ups for nothing', () => {
  it('of the document are derived from its gets beyond case 2, by mutex and by latch', () => {
    const rows = wakeUpRows([], tables);
    const rounded = (guard: 'mutex' | 'latch') =>
      rows.slice(1).map(({ document }) => Number(document![guard].toFixed(1)));
    expect(rows.map((row) => row.pairs)).toEqual([1, 2, 4, 8, 16, 32, 64]);
    expect(rounded('mutex')).toEqual([0.6, 1.2, 5.6, 10.5, 19.5, 29.8]);
    expect(rounded('latch')).toEqual([0.6, 1.3, 4.7, 8.3, 14.5, 21.9]);
  });

  it('of a point are shown with those that its sessions counted', () => {
    const point = pointOf('listen', {
      mutexGetsPerDequeue: 54,
      latchGetsPerDequeue: 23,
      falseWakeUpsPerDequeue: 2.1,
    });
    const row = wakeUpRows([point], tables).find((each) => each.pairs === pairs)!;
    expect(row).toMatchObject({ counted: 2.1, here: { mutex: 2 } });
    expect(row.here!.latch).toBeCloseTo(14 / 6);
  });
});

describe('the reports of both methods', () => {
  const wait = (event: string, ofClass: Point['waits'][number]['class'], share: number) => ({
    event,
    class: ofClass,
    waits: 100,
    totalMs: share * pairs * measuredMs,
    p99Ms: 0,
    emulated: false,
  });
  const shares = { timeOnCpu: 0.1, timeRunnable: 0.05, timeWaiting: 0.35, timeIdle: 0.5, cpuCores: 1.5 };
  const waits = [
    wait('library cache: mutex X', 'concurrency', 0.1),
    wait('instance commit', 'commit', 0.2),
    wait('instance call', 'network', 0.05),
    wait('wait for unread message on broadcast channel', 'idle', 0.5),
  ];

  it('have shares of all time that the same sessions were not idle', () => {
    const points = [pointOf('listen', shares, waits), pointOf('subscriber', shares, waits)];
    const report = methodReports(points, points[0]!, undefined)!;
    const events = Object.fromEntries(
      report.reports[0]!.events.map(({ event, share }) => [event, Number(share.toFixed(4))]),
    );
    expect(report.reports[0]!.accounted).toBeNull();
    expect(events).toEqual({
      'instance commit': 0.4,
      'library cache: mutex X': 0.2,
      'on CPU': 0.2,
      runnable: 0.1,
      'instance call': 0.1,
    });
  });
});
