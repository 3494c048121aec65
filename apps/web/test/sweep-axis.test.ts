import type { PointParams } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { metrics } from '../src/model/point-metrics.ts';
import { describeSeries, scalingSeries } from '../src/model/scaling-series.ts';
import { sweepAxis } from '../src/model/sweep-axis.ts';
import { overThreads, point } from './fixtures/points.ts';

test('the axis is threads unless the scenario varies another parameter more', () => {
  expect(sweepAxis(overThreads).id).toBe('threads');
  expect(sweepAxis({ ...overThreads, operationsPerTransaction: [1, 10, 100, 1000] }).id).toBe('threads');
  const sizes = { ...overThreads, threads: [4], payloadBytes: [64, 4096] };
  expect(sweepAxis(sizes)).toMatchObject({ id: 'payloadBytes', over: 'the payload size' });
  expect(sweepAxis(sizes).describe(4096)).toBe('4,096 bytes');
});

test('a varied parameter that is not on the axis separates series', () => {
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
  expect(series.map((entry) => [describeSeries(entry), entry.points.length])).toEqual([
    ['sharded, 1 instance, 10 operations per transaction, durable', 2],
    ['sharded, 1 instance, 1,000 operations per transaction, durable', 1],
    ['sharded, 1 instance, 10 operations per transaction, memory', 1],
  ]);
});

test('a point lies at its own value of the axis parameter', () => {
  const sweep = { ...overThreads, threads: [4], payloadBytes: [64, 4096] };
  const points = [64, 4096].map((payloadBytes) => {
    const base = point({ threads: 4 });
    return { ...base, params: { ...base.params, payloadBytes } };
  });
  const [only] = scalingSeries(points, { metric: metrics.dequeue, roundTrip: 'all', sweep });
  expect(only!.points.map(({ x }) => x)).toEqual([64, 4096]);
});
