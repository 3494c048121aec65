import type { PointParams } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { metrics } from '../src/model/metrics.ts';
import { scalingSeries, seriesInWords } from '../src/model/scaling-series.ts';
import { sweepAxis } from '../src/model/sweep-axis.ts';
import { overThreads, point } from './fixtures/points.ts';

test('points are shown over the threads, unless a scenario varies something else more', () => {
  expect(sweepAxis(overThreads).id).toBe('threads');
  expect(sweepAxis({ ...overThreads, operationsPerTransaction: [1, 10, 100, 1000] }).id).toBe('threads');
  const sizes = { ...overThreads, threads: [4], payloadBytes: [64, 4096] };
  expect(sweepAxis(sizes)).toMatchObject({ id: 'payloadBytes', over: 'the payload' });
  expect(sweepAxis(sizes).inWords(4096)).toBe('4,096 bytes');
});

test('what is varied and not on the axis makes lines of its own', () => {
  const sweep = {
    ...overThreads,
    operationsPerTransaction: [10, 1000],
    durability: ['durable' as const, 'memory' as const],
  };
  const at = (change: Partial<PointParams>) => {
    const base = point();
    return { ...base, params: { ...base.params, durability: 'durable' as const, ...change } };
  };
  const points = [
    at({ threads: 1 }),
    at({ threads: 4 }),
    at({ threads: 1, operationsPerTransaction: 1000 }),
    at({ threads: 1, durability: 'memory' }),
  ];
  const series = scalingSeries(points, { metric: metrics.dequeue, roundTrip: 'all', sweep });
  expect(series.map((entry) => [seriesInWords(entry), entry.points.length])).toEqual([
    ['sharded, 1 instance, 10 operations a transaction, durable', 2],
    ['sharded, 1 instance, 1,000 operations a transaction, durable', 1],
    ['sharded, 1 instance, 10 operations a transaction, memory', 1],
  ]);
});

test('a point lies over the axis at its own value', () => {
  const sweep = { ...overThreads, threads: [4], payloadBytes: [64, 4096] };
  const points = [64, 4096].map((payloadBytes) => {
    const base = point({ threads: 4 });
    return { ...base, params: { ...base.params, payloadBytes } };
  });
  const [only] = scalingSeries(points, { metric: metrics.dequeue, roundTrip: 'all', sweep });
  expect(only!.points.map(({ x }) => x)).toEqual([64, 4096]);
});
