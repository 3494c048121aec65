/** A12 to A19 on points that make each claim hold and on points that make it fail. */
import type { Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { point as anyPoint, five, type PointFacts, withGrouped } from './support.ts';

const judge = (id: string, points: readonly Point[], cores = 2) =>
  bundledStudies.judge([id], points, { cores })[0]!;
const clause = (id: string, points: readonly Point[], words: string, cores = 2) =>
  judge(id, points, cores).clauses.find(({ statement }) => statement.includes(words))?.verdict;
const point = (facts: PointFacts) => anyPoint({ subscribers: 10, repeats: five, ...facts });
const unsharded = (facts: PointFacts) => point({ ...facts, system: 'unsharded' });

test('points of queues decide no claim about topics, and points of topics no claim about queues', () => {
  const queue = anyPoint({ threads: 4, operations: 1_000, deq: 900_000 });
  for (const id of ['A12', 'A16']) expect(judge(id, [queue]).verdict).toBe('inconclusive');
  const topic = point({ threads: 4, operations: 1_000, deq: 900_000 });
  for (const id of ['A2', 'A11']) expect(judge(id, [topic]).verdict).toBe('inconclusive');
});

describe('A12 and A16, rates of a topic', () => {
  test('hold near them; A16 counts enqueues and dequeues together, in large batches that are faster than small ones', () => {
    expect(judge('A12', [point({ threads: 4, deq: 95_000 })])).toMatchObject({
      verdict: 'holds',
      value: 95_000,
    });
    const small = point({ threads: 4, deq: 90_000 });
    const large = point({ threads: 4, operations: 1_000, deq: 140_000 });
    expect(judge('A16', [small, large])).toMatchObject({ verdict: 'holds', value: 153_999 });
    const asFast = point({ threads: 4, deq: 140_000 });
    expect(clause('A16', [asFast, large], 'larger batches')).toBe('does-not-hold');
  });

  test('do not hold if dequeuers do not keep up at that rate', () => {
    expect(judge('A12', [point({ threads: 4, deq: 130_000, enq: 20_000 })]).verdict).toBe('does-not-hold');
  });

  test('are not comparable below them on less hardware, and do not hold on as much hardware', () => {
    const points = [
      point({ threads: 4, deq: 50_000 }),
      point({ threads: 4, deq: 60_000, operations: 1_000 }),
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
  const lock = { event: 'write lock', class: 'concurrency' as const, totalMs: 9_000 };
  const points = (
    rate: (threads: number, instances: number) => number,
    waits: PointFacts['waits'] = [lock],
  ) =>
    [1, 2].flatMap((instances) =>
      [1, 4, 16].flatMap((threads) => [
        point({ instances, threads, deq: 3_000 * threads }),
        unsharded({ instances, threads, deq: rate(threads, instances), waits: waits! }),
      ]),
    );
  const flat = (threads: number) => 2_000 + 10 * threads;

  test('holds when it gains little and waits for others, and names what stands for the topic', () => {
    const result = judge('A13', withGrouped(points(flat)));
    expect(result.verdict).toBe('holds');
    expect(result.clauses.at(-1)!.reason).toContain('its own queue that gets a copy of every message');
    expect(result.clauses[2]!.reason).toContain('group commit gives 1 and sharding');
    expect(judge('A13', points(flat)).verdict).toBe('inconclusive');
  });

  test('is also judged against both kinds of topics that are stored once, if one was measured', () => {
    const storedOnce = (all: readonly Point[]) =>
      all.flatMap((each) =>
        each.system === 'sharded' ? [each] : [each, { ...each, system: `${each.system}-once` }],
      );
    const result = judge('A13', storedOnce(withGrouped(points(flat))));
    expect(result.verdict).toBe('holds');
    const conditions = new Set(result.clauses.map(({ condition }) => condition));
    for (const system of ['unsharded', 'unsharded-grouped', 'unsharded-once', 'unsharded-grouped-once'])
      expect([...conditions].some((words) => words?.startsWith(`as it is, against ${system} (`))).toBe(true);
    expect(result.clauses.at(-1)!.reason).toContain('stores a message once, with a row for each subscriber');
    expect(result.clauses.at(-2)!.reason).toContain('group commit gives 1 and sharding');
    const withoutWriter = storedOnce(withGrouped(points(flat))).filter(
      ({ system }) => system !== 'unsharded-grouped-once',
    );
    expect(judge('A13', withoutWriter).verdict).toBe('inconclusive');
    const scales = points((threads) => 900 * threads);
    const scalesStoredOnce = storedOnce(withGrouped(scales)).filter(
      ({ system }) => system !== 'unsharded' && system !== 'unsharded-grouped',
    );
    expect(judge('A13', scalesStoredOnce).verdict).toBe('does-not-hold');
  });

  test('does not hold when it scales like the sharded one, or waits for something else', () => {
    expect(
      judge(
        'A13',
        points((threads) => 900 * threads),
      ).verdict,
    ).toBe('does-not-hold');
    expect(clause('A13', points(flat, [{ totalMs: 9_000 }]), 'wait for each other')).toBe('does-not-hold');
  });
});

describe('A14, less than half the CPU', () => {
  const points = (cheap: number[], costly: number[]) =>
    [4, 16].flatMap((threads) => [
      point({ threads, deq: 9_000, cpuUs: cheap }),
      unsharded({ threads, deq: 5_000, cpuUs: costly }),
    ]);
  const ten = [10, 10, 10, 10, 10];

  test('holds at a tenth, not at nine tenths, and is inconclusive around a half', () => {
    const tenth = points([1, 1, 1, 1.1, 1], ten);
    expect(judge('A14', withGrouped(tenth))).toMatchObject({ verdict: 'holds', value: 0.102 });
    expect(judge('A14', tenth).verdict).toBe('inconclusive');
    expect(judge('A14', points([9, 9, 9.1, 9, 9], ten)).verdict).toBe('does-not-hold');
    expect(judge('A14', points([5, 4, 6, 5.5, 4.5], ten)).verdict).toBe('inconclusive');
  });
});

describe('A15, enqueues do not slow down', () => {
  const at = (rates: number[], facts: Partial<PointFacts> = {}) =>
    rates.map((enq, index) => point({ instances: 2 ** index, threads: 8, enq, deq: 10 * enq, ...facts }));

  test('holds when more instances enqueue as fast or faster', () => {
    expect(judge('A15', at([1_000, 1_100, 1_050]))).toMatchObject({ verdict: 'holds', value: 0.95 });
  });

  test('does not hold when they lose a third, and is not comparable when the cores are full', () => {
    expect(judge('A15', at([1_000, 1_000, 660]))).toMatchObject({
      verdict: 'does-not-hold',
      value: 0.66,
      reason: expect.stringContaining('from 2 to 4 instances'),
    });
    const full = [1_000, 1_000, 660].flatMap((enq, index) =>
      at([enq], { instances: 2 ** index, cpuUs: 180_000 / enq }),
    );
    expect(judge('A15', full)).toMatchObject({
      verdict: 'not-comparable',
      reason: expect.stringContaining('of 2 cores are busy'),
    });
  });

  test('does not depend on deliveries, which may slow down', () => {
    const points = [1, 2].map((instances) =>
      point({ instances, threads: 8, enq: 1_000, deq: 9_000 / instances }),
    );
    expect(judge('A15', points).verdict).toBe('holds');
  });

  test('is inconclusive if a loss of a sixth was measured once', () => {
    expect(judge('A15', at([1_000, 830], { repeats: [1] }))).toMatchObject({
      verdict: 'inconclusive',
      provisional: true,
    });
  });
});

test('A17 is not comparable: the reason shows what a delivery costs, which decides nothing', () => {
  const eight = point({ instances: 8, threads: 8, deq: 50_000, cpuUs: 16 });
  const result = judge('A17', [eight]);
  expect(result).toMatchObject({ verdict: 'not-comparable', value: null });
  expect(result.reason).toContain('less than 192 µs for a delivery');
  expect(judge('A17', [point({ instances: 4, threads: 8, deq: 1_000 })]).verdict).toBe('inconclusive');
});

describe('A18, response time stays flat', () => {
  const points = (flat: number[], rising: number[]) =>
    flat.flatMap((callMs, index) => [
      point({ instances: 2 ** index, threads: 8, deq: 9_000, callMs }),
      unsharded({ instances: 2 ** index, threads: 8, deq: 5_000, callMs: rising[index]! }),
    ]);

  test('holds when sharded is flat and unsharded rises', () => {
    expect(judge('A18', points([0.1, 0.11, 0.12], [1, 4, 9])).verdict).toBe('holds');
  });

  test('does not hold when sharded rises as well, or unsharded is flat as well', () => {
    expect(clause('A18', points([0.1, 0.3, 0.9], [1, 4, 9]), 'stays flat')).toBe('does-not-hold');
    expect(clause('A18', points([0.1, 0.11, 0.12], [1, 1, 1.1]), 'unsharded one rises')).toBe(
      'does-not-hold',
    );
  });

  test('holds if unsharded rises with dequeuers only', () => {
    const more = [4, 8, 16].flatMap((threads) => [
      point({ threads, deq: 9_000, callMs: 0.1 }),
      unsharded({ threads, deq: 5_000, callMs: threads / 4 }),
    ]);
    expect(judge('A18', more)).toMatchObject({
      verdict: 'holds',
      clauses: [{}, { statement: 'the unsharded one rises with dequeuers', value: 1 }],
    });
  });
});

describe('A19, dequeuers of a topic keep up', () => {
  const at = (ratio: number, waits?: PointFacts['waits']) =>
    [4, 16].map((threads) =>
      point({ threads, enq: 1_000, deq: 10_000 * ratio, ...(waits === undefined ? {} : { waits }) }),
    );

  test('holds when each subscriber gets what is enqueued, and not when a tenth stays behind', () => {
    expect(judge('A19', at(0.99))).toMatchObject({ verdict: 'holds', value: 0.99 });
    expect(clause('A19', at(0.8), 'keep up')).toBe('does-not-hold');
  });

  test('does not hold when enqueuers are paused', () => {
    const held = { event: 'flow control', class: 'configuration' as const, totalMs: 2_000 };
    expect(judge('A19', at(1, [held, { totalMs: 20_000 }])).verdict).toBe('does-not-hold');
  });
});
