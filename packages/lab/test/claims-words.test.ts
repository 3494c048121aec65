/** W1 to W10 on points that make each claim hold and on points that make it fail. */
import type { ConversionOutcome, FaultOutcome, Params, Point } from '@shardlab/contract';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { five, type PointFacts, point } from './support.ts';

const judge = (id: string, points: readonly Point[]) => bundledStudies.judge([id], points, { cores: 2 })[0]!;

/** A point with parameters that the builder `point` does not know. */
function varied(params: Params, facts: PointFacts): Point {
  const made = point({ repeats: five, ...facts });
  return { ...made, params: { ...made.params, ...params } };
}

describe('W1, a backlog does not slow dequeues', () => {
  const at = (rates: [small: number, large: number], facts: Partial<PointFacts> = {}) => [
    varied({ backlog: 1_000 }, { ...facts, deq: rates[0] }),
    varied({ backlog: 100_000 }, { ...facts, deq: rates[1] }),
  ];

  test('holds at nine tenths, with the interval of the repeats', () => {
    expect(judge('W1', at([100_000, 90_000]))).toMatchObject({
      verdict: 'holds',
      value: 0.9,
    });
  });

  test('does not hold at a half', () => {
    expect(judge('W1', at([100_000, 50_000]))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('With a backlog of 100,000 messages 50,000/s'),
    });
  });

  test('is decided by the worst of several lines; unsharded ones do not count', () => {
    const slower = at([100_000, 40_000], { threads: 8 });
    expect(judge('W1', [...at([100_000, 99_000]), ...slower]).verdict).toBe('does-not-hold');
    const plain = at([100_000, 10_000], { system: 'unsharded' });
    expect(judge('W1', [...at([100_000, 99_000]), ...plain]).verdict).toBe('holds');
  });
});

describe('W2, larger messages move more bytes', () => {
  const at = (rates: number[]) => rates.map((deq, step) => varied({ payloadBytes: 64 * 8 ** step }, { deq }));

  test('holds while bytes a second rise', () => {
    expect(judge('W2', at([200_000, 100_000, 20_000])).verdict).toBe('holds');
  });

  test('does not hold if one step to larger messages loses half, at any size', () => {
    expect(judge('W2', at([200_000, 100_000, 6_250]))).toMatchObject({
      verdict: 'does-not-hold',
      value: 0.5,
    });
    expect(judge('W2', at([200_000, 12_500, 20_000])).verdict).toBe('does-not-hold');
  });
});

describe('W3, many subscribers are cheap', () => {
  const at = (cpuUs: number[]) =>
    cpuUs.map((us, step) => point({ deq: 100_000, subscribers: 10 ** step, cpuUs: us, repeats: five }));

  test('holds while a delivery to one of a thousand costs about what it costs with ten', () => {
    expect(judge('W3', at([5, 1, 0.8, 1]))).toMatchObject({ verdict: 'holds', value: 1.25 });
  });

  test('does not hold when it costs three times as much', () => {
    expect(judge('W3', at([5, 1, 1, 3]))).toMatchObject({ verdict: 'does-not-hold', value: 3 });
  });
});

describe('W4, the cache saves CPU', () => {
  const at = (cpuUs: number[]) =>
    cpuUs.map((us, step) => varied({ cacheMiB: 4 ** step, backlog: 200_000 }, { deq: 50_000, cpuUs: us }));

  test('holds when a message costs more from a cache that is too small', () => {
    expect(judge('W4', at([9, 8, 6]))).toMatchObject({ verdict: 'holds', value: 1.5 });
  });

  test('does not hold when it costs less, and one repeat of about the same decides nothing', () => {
    expect(judge('W4', at([5, 8, 6])).verdict).toBe('does-not-hold');
    const once = at([6.5, 6]).map((each) => ({ ...each, repeats: each.repeats.slice(0, 1) }));
    expect(judge('W4', once).verdict).toBe('inconclusive');
  });
});

describe('W5, nonpersistent messages are faster', () => {
  const at = (durable: number, memory: number) => [
    varied({ durability: 'durable' }, { deq: durable }),
    varied({ durability: 'relaxed' }, { deq: 1_000_000 }),
    varied({ durability: 'memory' }, { deq: memory }),
  ];

  test('holds at twice', () => {
    expect(judge('W5', at(50_000, 100_000))).toMatchObject({ verdict: 'holds', value: 2 });
  });

  test('does not hold when they are slower', () => {
    expect(judge('W5', at(50_000, 40_000))).toMatchObject({ verdict: 'does-not-hold', value: 0.8 });
  });
});

describe('W6, some workloads do as well unsharded', () => {
  const at = (shares: number[]) =>
    shares.flatMap((share, index) => [
      point({ threads: index + 1, deq: 50_000, repeats: five }),
      point({ system: 'unsharded', threads: index + 1, deq: 50_000 * share, repeats: five }),
    ]);

  test('holds if there is one, and names it', () => {
    expect(judge('W6', at([0.3, 1.1, 0.2]))).toMatchObject({
      verdict: 'holds',
      value: 1.1,
      reason: expect.stringMatching(/For 1 of 3 workloads .*2 threads/),
    });
  });

  test('ignores a workload with so few transactions that chance decides', () => {
    const few = [
      point({ threads: 9, deq: 2_000, operations: 1_000, repeats: five }),
      point({ system: 'unsharded', threads: 9, deq: 4_000, operations: 1_000, repeats: five }),
    ];
    expect(judge('W6', [...at([0.3, 0.6]), ...few])).toMatchObject({ verdict: 'does-not-hold', value: 0.6 });
  });

  test('does not hold when sharded is clearly faster everywhere', () => {
    expect(judge('W6', at([0.3, 0.6, 0.2]))).toMatchObject({ verdict: 'does-not-hold', value: 0.6 });
  });
});

describe('W7, a killed instance is served again', () => {
  const kill = (outageMs: number | null): FaultOutcome => ({
    kind: 'kill',
    instance: 2,
    atMs: 2_000,
    takeoverMs: outageMs,
    outageMs,
    dequeuePerSec: { before: 40_000, during: 20_000, after: 35_000 },
  });
  const at = (times: (number | null)[], facts: Partial<PointFacts> = {}): Point[] => {
    const made = point({ instances: 2, threads: 4, deq: 35_000, ...facts, repeats: times.map(() => 1) });
    const repeats = made.repeats.map((repeat, index) => ({ ...repeat, faults: [kill(times[index]!)] }));
    return [{ ...made, repeats }];
  };

  test('holds if each killed instance is served again soon and nothing is lost', () => {
    expect(judge('W7', at([300, 420, 350]))).toMatchObject({
      verdict: 'holds',
      value: 350,
      interval: null,
      provisional: true,
    });
    expect(judge('W7', at([300, 420, 350, 330, 390]))).toMatchObject({
      verdict: 'holds',
      provisional: false,
    });
  });

  test('does not hold if one is never served again', () => {
    expect(judge('W7', at([300, null, 350]))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('1 of 3 instances were never served again'),
    });
  });

  test('does not hold if it takes long', () => {
    expect(judge('W7', at([9_000, 8_000, 9_500])).verdict).toBe('does-not-hold');
    expect(judge('W7', at([300, 350, 9_500])).verdict).not.toBe('holds');
  });

  test('does not hold if a message was lost, even if the instance is served again soon', () => {
    expect(judge('W7', at([300, 350], { lost: 1 }))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('lost'),
    });
  });
});

describe('W8, a queue in use is converted', () => {
  const conversion = (after: number, withoutEnqueueMs: number | null): ConversionOutcome => ({
    atMs: 2_000,
    tookMs: 60,
    steps: [],
    withoutEnqueueMs,
    enqueuePerSec: { before: 10_000, during: 0, after },
    dequeuePerSec: { before: 10_000, during: 5_000, after },
  });
  const at = (
    rates: number[],
    facts: Partial<PointFacts> = {},
    withoutEnqueueMs: number | null = 70,
  ): Point[] => {
    const made = point({ deq: 10_000, ...facts, repeats: rates.map(() => 1) });
    const repeats = made.repeats.map((repeat, index) => ({
      ...repeat,
      conversion: conversion(rates[index]!, withoutEnqueueMs),
    }));
    return [{ ...made, repeats }];
  };

  test('holds when its clients continue and nothing is lost', () => {
    expect(judge('W8', at([20_000, 30_000, 40_000]))).toMatchObject({
      verdict: 'holds',
      value: 3,
      interval: null,
      provisional: true,
    });
  });

  test('does not hold if hardly any client continues', () => {
    expect(judge('W8', at([100, 200, 300])).verdict).toBe('does-not-hold');
    expect(judge('W8', at([20_000, 30_000], {}, null))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('no enqueue was acknowledged'),
    });
  });

  test('does not hold if a message was lost, even if all clients continue', () => {
    expect(judge('W8', at([20_000, 30_000], { lost: 1 }))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('lost'),
    });
  });
});

describe('W9, forwarding does not hold enqueues up', () => {
  const at = (rates: [sameInstance: number, otherInstance: number]) => [
    varied({ dequeuers: 'same-instance' }, { deq: rates[0] }),
    varied({ dequeuers: 'other-instance' }, { deq: rates[1] }),
  ];

  test('holds at nine tenths, and does not at a half', () => {
    expect(judge('W9', at([10_000, 9_000]))).toMatchObject({ verdict: 'holds', value: 0.9 });
    expect(judge('W9', at([10_000, 5_000]))).toMatchObject({
      verdict: 'does-not-hold',
      reason: expect.stringContaining('Dequeued on another instance: 5,000/s enqueued'),
    });
  });

  test('needs dequeuers on the same and on another instance', () => {
    expect(judge('W9', at([10_000, 9_000]).slice(1)).verdict).toBe('inconclusive');
  });
});

describe('W10, one commit for rows and messages', () => {
  const at = (together: number, separate: number, threads = 1) => [
    varied({ rows: 'none' }, { threads, deq: 100_000 }),
    varied({ rows: 'together' }, { threads, deq: together }),
    varied({ rows: 'separate' }, { threads, deq: separate }),
  ];

  test('holds when it is faster than two', () => {
    expect(judge('W10', at(80_000, 40_000))).toMatchObject({
      verdict: 'holds',
      value: 2,
      reason: expect.stringContaining('40,000/s with rows in a separate one, 100,000/s without rows'),
    });
  });

  test('does not hold when it is slower', () => {
    expect(judge('W10', at(30_000, 40_000))).toMatchObject({ verdict: 'does-not-hold', value: 0.75 });
  });

  test('is decided by the median of several pairs, each with the same parameters', () => {
    const worse = at(10_000, 40_000, 8);
    const better = at(60_000, 40_000, 16);
    expect(judge('W10', [...at(80_000, 40_000), ...worse, ...better]).value).toBe(1.5);
  });

  test('needs both ways to commit, and points without lost messages', () => {
    expect(judge('W10', at(80_000, 40_000).slice(0, 2)).verdict).toBe('inconclusive');
    const faulty = at(80_000, 40_000).map((each) => ({ ...each, integrity: { ...each.integrity, lost: 1 } }));
    expect(judge('W10', faulty).verdict).toBe('inconclusive');
  });
});
