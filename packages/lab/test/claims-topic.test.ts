/** A12 to A19 on points that make each claim hold and on points that make it fail. */
import type { Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { point as anyPoint, type PointFacts } from './support.ts';

const judge = (id: string, points: readonly Point[], cores = 2) =>
  bundledStudies.judge([id], points, { cores })[0]!;
const three = [1, 1.01, 0.99];
const point = (facts: PointFacts) => anyPoint({ subscribers: 10, ...facts });
const unsharded = (facts: PointFacts) => point({ ...facts, system: 'unsharded' });

test('points of a queue say nothing of a topic, nor those of a topic of a queue', () => {
  const queue = anyPoint({ threads: 4, operations: 1_000, deq: 900_000 });
  for (const id of ['A12', 'A16']) expect(judge(id, [queue]).verdict).toBe('inconclusive');
  const topic = point({ threads: 4, operations: 1_000, deq: 900_000 });
  for (const id of ['A2', 'A11']) expect(judge(id, [topic]).verdict).toBe('inconclusive');
});

describe('A12 and A16, rates of a topic', () => {
  test('hold when they are reached, A16 by enqueues and dequeues together in large batches', () => {
    expect(judge('A12', [point({ threads: 4, deq: 130_000 })])).toMatchObject({
      verdict: 'holds',
      value: 130_000,
    });
    expect(judge('A16', [point({ threads: 4, operations: 1_000, deq: 140_000 })])).toMatchObject({
      verdict: 'holds',
      value: 154_000,
    });
  });

  test('cannot be judged below them on less hardware, and fail on as much', () => {
    const points = [
      point({ threads: 4, deq: 50_000 }),
      point({ threads: 4, deq: 50_000, operations: 1_000 }),
    ];
    for (const id of ['A12', 'A16']) {
      expect(judge(id, points, 2).verdict).toBe('not-comparable');
      expect(judge(id, points, 192).verdict).toBe('does-not-hold');
    }
  });

  test('large batches do not show A12, small ones not A16', () => {
    expect(judge('A12', [point({ deq: 500_000, operations: 1_000 })]).verdict).toBe('inconclusive');
    expect(judge('A16', [point({ deq: 500_000 })]).verdict).toBe('inconclusive');
  });
});

describe('A13, an unsharded topic does not scale', () => {
  const lock = [{ event: 'write lock', class: 'concurrency' as const, totalMs: 900 }];
  const points = (rate: (threads: number) => number, waits: PointFacts['waits'] = lock) =>
    [1, 4, 16].flatMap((threads) => [
      point({ threads, deq: 10_000 * threads }),
      unsharded({ threads, deq: rate(threads), waits: waits ?? [] }),
    ]);

  test('holds when it gains little and waits for others, and names its stand-in', () => {
    expect(
      judge(
        'A13',
        points((threads) => 5_000 + threads),
      ),
    ).toMatchObject({ verdict: 'holds', reason: expect.stringContaining('has no unsharded topics') });
  });

  test('does not hold when it scales like the sharded one', () => {
    expect(
      judge(
        'A13',
        points((threads) => 900 * threads),
      ).verdict,
    ).toBe('does-not-hold');
  });

  test('does not hold when it waits for something else', () => {
    const sync = [{ event: 'log file sync', totalMs: 900 }];
    expect(
      judge(
        'A13',
        points((threads) => 5_000 + threads, sync),
      ),
    ).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('not a wait for other sessions'),
    });
  });
});

describe('A14, less than half the CPU', () => {
  const points = (cheap: number[], costly: number[]) =>
    [4, 16].flatMap((threads) => [
      point({ threads, deq: 9_000, cpuUs: cheap, repeats: three }),
      unsharded({ threads, deq: 5_000, cpuUs: costly, repeats: three }),
    ]);

  test('holds at a tenth', () => {
    expect(judge('A14', points([1, 1, 1.1], [10, 10, 10]))).toMatchObject({ verdict: 'holds', value: 0.1 });
  });

  test('does not hold at nine tenths', () => {
    expect(judge('A14', points([9, 9, 9.1], [10, 10, 10])).verdict).toBe('does-not-hold');
  });

  test('is inconclusive around a half', () => {
    expect(judge('A14', points([5, 4, 6], [10, 10, 10])).verdict).toBe('inconclusive');
  });
});

describe('A15, enqueues do not slow down', () => {
  const at = (rates: number[], repeats = three) =>
    rates.map((enq, index) => point({ instances: 2 ** index, threads: 8, enq, deq: 10 * enq, repeats }));

  test('holds when more instances enqueue as fast or faster', () => {
    expect(judge('A15', at([1_000, 1_100, 1_050]))).toMatchObject({ verdict: 'holds', value: 0.045 });
  });

  test('does not hold when they lose a third', () => {
    expect(judge('A15', at([1_000, 1_000, 660]))).toMatchObject({
      verdict: 'does-not-hold',
      value: 0.34,
      reason: expect.stringContaining('from 2 to 4 at 8 threads'),
    });
  });

  test('deliveries that slow down do not matter to it', () => {
    const points = [1, 2].map((instances) =>
      point({ instances, threads: 8, enq: 1_000, deq: 9_000 / instances }),
    );
    expect(judge('A15', points).verdict).toBe('holds');
  });

  test('a loss of a sixth, measured once, is inconclusive', () => {
    expect(judge('A15', at([1_000, 830], [1])).verdict).toBe('inconclusive');
  });
});

describe('A17, CPU of eight instances', () => {
  const eight = (cores: number, deq: number) => [
    point({ instances: 8, threads: 8, deq, cores: Array.from({ length: 8 }, () => cores) }),
  ];

  test('holds when the rate of the document takes little of its nodes', () => {
    expect(judge('A17', eight(0.2, 100_000))).toMatchObject({ verdict: 'holds', value: 0.0083 });
  });

  test('does not hold when the document’s rate would take more than a tenth', () => {
    expect(judge('A17', eight(0.25, 5_000))).toMatchObject({ verdict: 'does-not-hold', value: 0.2083 });
  });

  test('needs eight instances', () => {
    expect(judge('A17', [point({ instances: 4, threads: 8, deq: 1_000 })]).verdict).toBe('inconclusive');
  });
});

describe('A18, response time stays flat', () => {
  const points = (flat: number[], rising: number[]) =>
    flat.flatMap((callMs, index) => [
      point({ instances: 2 ** index, threads: 8, deq: 9_000, callMs, repeats: three }),
      unsharded({ instances: 2 ** index, threads: 8, deq: 5_000, callMs: rising[index]!, repeats: three }),
    ]);

  test('holds when sharded is flat and unsharded rises', () => {
    expect(judge('A18', points([0.1, 0.11, 0.12], [1, 4, 9]))).toMatchObject({
      verdict: 'holds',
      value: 1.2,
    });
  });

  test('does not hold when sharded rises as well', () => {
    expect(judge('A18', points([0.1, 0.3, 0.9], [1, 4, 9]))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('the sharded topic is not flat'),
    });
  });

  test('does not hold when unsharded is flat as well', () => {
    expect(judge('A18', points([0.1, 0.11, 0.12], [1, 1, 1.1]))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('the unsharded topic does not rise'),
    });
  });
});

describe('A19, dequeuers of a topic keep up', () => {
  const at = (ratio: number) =>
    [4, 16].map((threads) => point({ threads, enq: 1_000, deq: 10_000 * ratio, repeats: three }));

  test('holds when each subscriber gets what is enqueued', () => {
    expect(judge('A19', at(0.99))).toMatchObject({ verdict: 'holds', value: 0.99 });
  });

  test('does not hold when a tenth stays behind', () => {
    expect(judge('A19', at(0.9)).verdict).toBe('does-not-hold');
  });

  test('does not hold when enqueuers are paused', () => {
    const held = { event: 'flow control', class: 'configuration' as const, totalMs: 2_000 };
    const points = [4, 16].map((threads) => point({ threads, enq: 1_000, deq: 10_000, waits: [held] }));
    expect(judge('A19', points).verdict).toBe('does-not-hold');
  });
});
