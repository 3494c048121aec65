/** A7 to A11 on points that make each claim hold and on points that make it fail. */
import type { Point, WaitSummary } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { type PointFacts, point } from './support.ts';

const judge = (id: string, points: readonly Point[], cores = 2) =>
  bundledStudies.judge([id], points, { cores })[0]!;
const three = [1, 1.01, 0.99];

/** Both queues at 4, 16 and 32 threads. */
function pairs(sharded: Omit<PointFacts, 'deq'>, unsharded: Omit<PointFacts, 'deq'>): Point[] {
  return [4, 16, 32].flatMap((threads) => [
    point({ ...sharded, threads, deq: 50_000 }),
    point({ ...unsharded, system: 'unsharded', threads, deq: 8_000 }),
  ]);
}

describe('A7, four times as many dequeues per CPU', () => {
  test('holds at six times, with the interval of the repeats', () => {
    const result = judge(
      'A7',
      pairs({ repeats: three, cpuUs: [10, 10, 11] }, { repeats: three, cpuUs: [60, 62, 61] }),
    );
    expect(result).toMatchObject({ verdict: 'holds', value: 6 });
    expect(result.interval![0]).toBeGreaterThan(4);
  });

  test('does not hold at twice', () => {
    expect(judge('A7', pairs({ cpuUs: 10 }, { cpuUs: 20 }))).toMatchObject({
      verdict: 'does-not-hold',
      value: 2,
    });
  });

  test('is inconclusive near the bar from one repeat, and when the repeats reach over it', () => {
    expect(judge('A7', pairs({ cpuUs: 10 }, { cpuUs: 45 })).verdict).toBe('inconclusive');
    const wide = pairs({ repeats: three, cpuUs: [10, 15, 8] }, { repeats: three, cpuUs: [50, 40, 60] });
    expect(judge('A7', wide).verdict).toBe('inconclusive');
  });

  test('compares under load only, and only equals', () => {
    const light = [
      point({ threads: 1, deq: 1_000, cpuUs: 10 }),
      point({ system: 'unsharded', threads: 1, deq: 1_000, cpuUs: 10 }),
    ];
    expect(judge('A7', [...light, ...pairs({ cpuUs: 10 }, { cpuUs: 60 })]).value).toBe(6);
    const apart = [point({ threads: 8, deq: 1 }), point({ system: 'unsharded', threads: 16, deq: 1 })];
    expect(judge('A7', apart)).toMatchObject({ verdict: 'inconclusive', value: null });
  });
});

describe('A8, work spread evenly', () => {
  test('holds when the instances do about as much', () => {
    expect(
      judge('A8', [point({ instances: 2, threads: 4, deq: 1_000, shares: [0.52, 0.48] })]),
    ).toMatchObject({
      verdict: 'holds',
      value: 0.96,
    });
  });

  test('does not hold when one of them does nearly everything', () => {
    const points = [point({ instances: 2, threads: 4, deq: 1_000, shares: [0.9, 0.1] })];
    expect(judge('A8', points)).toMatchObject({ verdict: 'does-not-hold', value: 0.2 });
  });

  test('a small difference decides only if it was repeated', () => {
    const facts = { instances: 2, threads: 4, deq: 1_000, shares: [0.65, 0.35] };
    expect(judge('A8', [point(facts)]).verdict).toBe('inconclusive');
    expect(judge('A8', [point({ ...facts, repeats: three })])).toMatchObject({
      verdict: 'does-not-hold',
      interval: [0.7, 0.7],
    });
  });

  test('is inconclusive while repeats fall on both sides', () => {
    const shares = [
      [0.55, 0.45],
      [0.5, 0.5],
      [0.65, 0.35],
    ];
    expect(
      judge('A8', [point({ instances: 2, threads: 4, deq: 1_000, shares, repeats: three })]),
    ).toMatchObject({ verdict: 'inconclusive', value: 0.9, interval: [0.7, 1] });
  });

  test('instances with fewer sessions than others prove nothing', () => {
    const points = [point({ instances: 2, threads: 3, deq: 1_000, shares: [0.9, 0.1] })];
    expect(judge('A8', points)).toMatchObject({ verdict: 'inconclusive', value: null });
  });
});

describe('A9, a dequeue under a millisecond', () => {
  const at = (callMs: number[], repeats = three) =>
    [4, 16, 32].map((threads) => point({ threads, deq: 1_000, callMs, repeats }));

  test('holds at a tenth of one', () => {
    expect(judge('A9', at([0.1, 0.11, 0.12]))).toMatchObject({
      verdict: 'holds',
      value: 0.1,
      interval: [0.1, 0.12],
    });
  });

  test('does not hold at three', () => {
    expect(judge('A9', at([3, 2.8, 3.1])).verdict).toBe('does-not-hold');
  });

  test('is inconclusive around one', () => {
    expect(judge('A9', at([0.9, 1.2, 0.8])).verdict).toBe('inconclusive');
  });
});

describe('A10, limited by commits and partitions', () => {
  const waiting = (cores: number[], ...waits: Partial<WaitSummary>[]) => [
    point({ threads: 32, deq: 50_000, waits, cores }),
    point({ threads: 4, deq: 5_000 }),
  ];
  const commits = { event: 'log file sync', totalMs: 800 };
  const partitions = { event: 'partition maintenance', class: 'configuration' as const, totalMs: 100 };
  const reads = { event: 'backlog read', class: 'configuration' as const };

  test('holds when these two are what sessions wait for', () => {
    expect(judge('A10', waiting([0.5], commits, partitions, { ...reads, totalMs: 100 }))).toMatchObject({
      verdict: 'holds',
      value: 0.9,
    });
  });

  test('does not hold when something else is', () => {
    expect(judge('A10', waiting([0.5], commits, { ...reads, totalMs: 9_000 }))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('"backlog read"'),
    });
  });

  test('cannot be compared where the CPU is full before', () => {
    expect(judge('A10', waiting([1.9], commits, partitions)).verdict).toBe('not-comparable');
    expect(judge('A10', waiting([1.9], commits, partitions), 64).verdict).toBe('holds');
  });

  test('has the interval of its repeats, and is inconclusive while they fall on both sides', () => {
    const at = (...syncs: number[]) =>
      waiting([0.5], commits, { ...reads, totalMs: 200 }).map((each) => ({
        ...each,
        repeats: syncs.map((sync) => ({
          ...each.repeats[0]!,
          waitMs: { 'log file sync': sync, 'backlog read': 100, 'waiting for messages': 9_000 },
        })),
      }));
    expect(judge('A10', at(300, 900))).toMatchObject({ verdict: 'holds', interval: [0.75, 0.9] });
    expect(judge('A10', at(60, 900)).verdict).toBe('inconclusive');
    expect(judge('A10', at(25, 25)).interval).toEqual([0.2, 0.2]);
  });

  test('waits for work and of the emulated client do not count', () => {
    const idle = { event: 'waiting for messages', class: 'idle' as const, totalMs: 50_000 };
    const client = { event: 'client round trip', class: 'network' as const, totalMs: 50_000, emulated: true };
    expect(judge('A10', waiting([0.5], commits, idle, client)).value).toBe(1);
  });
});

describe('A11, large batches', () => {
  const partitions = [{ event: 'partition maintenance', class: 'configuration' as const, totalMs: 500 }];
  const large = (facts: Omit<PointFacts, 'deq'> & { deq?: number }) => [
    point({ threads: 4, operations: 1_000, deq: 120_000, waits: partitions, ...facts }),
    point({ threads: 4, deq: 900_000 }),
  ];

  test('holds when the rate is reached, dequeuers keep up, and partitions are the limit', () => {
    expect(judge('A11', large({}))).toMatchObject({ verdict: 'holds', value: 120_000 });
  });

  test('does not hold when dequeuers fall behind', () => {
    expect(judge('A11', large({ enq: 200_000 }))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('only 0.6'),
    });
  });

  test('does not hold when commits are the limit instead', () => {
    expect(judge('A11', large({ waits: [{ event: 'log file sync', totalMs: 500 }] }))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('not for partition maintenance'),
    });
  });

  test('a lower rate cannot be judged on less hardware, and fails on as much', () => {
    expect(judge('A11', large({ deq: 50_000 }), 2).verdict).toBe('not-comparable');
    expect(judge('A11', large({ deq: 50_000 }), 192).verdict).toBe('does-not-hold');
  });

  test('small batches do not count', () => {
    expect(judge('A11', [point({ threads: 4, deq: 900_000 })])).toMatchObject({
      verdict: 'inconclusive',
      value: null,
    });
  });
});
