import type { Params } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { describeSeries, scalingSeries } from '../src/model/scaling-series.ts';
import { sweepAxis } from '../src/model/sweep-axis.ts';
import { overThreads, point } from './fixtures/points.ts';
import { metric, program } from './fixtures/program.ts';

test('the axis is threads unless the scenario varies another parameter more', () => {
  expect(sweepAxis(overThreads, program)?.id).toBe('threads');
  expect(sweepAxis({ ...overThreads, operationsPerTransaction: [1, 10, 100, 1000] }, program)?.id).toBe(
    'threads',
  );
  const sizes = { ...overThreads, threads: [4], payloadBytes: [64, 4096] };
  expect(sweepAxis(sizes, program)).toMatchObject({ id: 'payloadBytes', over: 'the payload size' });
  expect(sweepAxis(sizes, program)!.describe(4096)).toBe('4,096 bytes');
});

test('a varied parameter that is not on the axis separates series', () => {
  const sweep = {
    ...overThreads,
    operationsPerTransaction: [10, 1000],
    durability: ['durable', 'memory'],
  };
  const at = (change: Params) => {
    const base = point();
    return { ...base, params: { ...base.params, durability: 'durable', ...change } };
  };
  const points = [
    at({ threads: 1 }),
    at({ threads: 4 }),
    at({ threads: 1, operationsPerTransaction: 1000 }),
    at({ threads: 1, durability: 'memory' }),
  ];
  const series = scalingSeries(points, {
    metric,
    roundTrip: 'all',
    axis: sweepAxis(sweep, program)!,
    sweep,
    program,
  });
  expect(series.map((entry) => [describeSeries(entry), entry.points.length])).toEqual([
    ['sharded, 1 instance, durable, 10 operations per transaction', 2],
    ['sharded, 1 instance, durable, 1,000 operations per transaction', 1],
    ['sharded, 1 instance, nonpersistent, 10 operations per transaction', 1],
  ]);
});

test('a point lies at its own value of the axis parameter', () => {
  const sweep = { ...overThreads, threads: [4], payloadBytes: [64, 4096] };
  const points = [64, 4096].map((payloadBytes) => {
    const base = point({ threads: 4 });
    return { ...base, params: { ...base.params, payloadBytes } };
  });
  const [only] = scalingSeries(points, {
    metric,
    roundTrip: 'all',
    axis: sweepAxis(sweep, program)!,
    sweep,
    program,
  });
  expect(only!.points.map(({ x }) => x)).toEqual([64, 4096]);
});
