import { describe, expect, it } from 'vitest';
import { names } from '../src/plan/trials.ts';
import { type BenchFigures, ratiosOf } from '../src/report/ratios.ts';
import type { Result } from '../src/report/results.ts';
import { spreadOf } from '../src/report/spread.ts';
import { targetsOf } from '../src/report/targets.ts';

const spread = (median: number) => ({ median, min: median, max: median });
const latency = (p50: number, p99: number) => ({ p50, p90: p99, p99, p999: p99, max: p99, count: 1_000 });

function result(change: Partial<Result>): Result {
  return {
    trial: 'some trial',
    driver: 'sharded',
    durability: 'durable',
    synced: true,
    durabilityStated: 'durable',
    placement: 'embedded',
    phase: 'both at once',
    operationsPerTransaction: 10,
    sessions: 32,
    enqueuers: 16,
    dequeuers: 16,
    instances: 1,
    subscribers: 0,
    intendedPerSec: null,
    enqueuePerSec: 100_000,
    dequeuePerSec: 100_000,
    cpuUsPerMessage: 4,
    latencyMs: null,
    scheduleLagMs: null,
    eventLoopDelayMs: latency(0.1, 2),
    spread: { enqueuePerSec: null, dequeuePerSec: null, cpuUsPerMessage: null },
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    backlog: 0,
    openMs: 100,
    residentMiB: 200,
    emulatedSyncMs: 0,
    repeats: 3,
    ...change,
  };
}

const raw = (cycle: 'insert' | 'insert-select-delete', operationsPerTransaction: number, rows: number) => ({
  cycle,
  operationsPerTransaction,
  pageBytes: 4096 as const,
  rowsPerSec: spread(rows),
  cpuUsPerRow: spread(2),
});

const figures: BenchFigures = {
  rawLimit: [
    raw('insert', 1, 9_000),
    raw('insert', 1_000, 390_000),
    { ...raw('insert', 1_000, 400_000), pageBytes: 16384 },
    raw('insert-select-delete', 10, 30_000),
    raw('insert-select-delete', 1_000, 200_000),
  ],
  results: [
    result({ trial: names.queue10, instances: 2, dequeuePerSec: 280_000, enqueuePerSec: 281_000 }),
    result({ trial: names.queue1000, instances: 2, dequeuePerSec: 300_000, operationsPerTransaction: 1_000 }),
    result({ trial: names.queue10Single, cpuUsPerMessage: 4 }),
    result({
      trial: 'unsharded, both at once, 10',
      driver: 'unsharded',
      dequeuePerSec: 24_000,
      cpuUsPerMessage: 50,
    }),
    result({
      trial: 'unsharded, both at once, 1000',
      driver: 'unsharded',
      dequeuePerSec: 120_000,
      operationsPerTransaction: 1_000,
    }),
    result({ trial: 'plainjob', driver: 'plainjob', durability: 'FULL', dequeuePerSec: 3_000 }),
    result({ driver: 'redis-list', placement: 'remote', durability: 'always', dequeuePerSec: 9_000 }),
    result({
      driver: 'redis-list',
      placement: 'remote',
      durability: 'everysec',
      synced: false,
      dequeuePerSec: 30_000,
    }),
    result({ trial: 'sharded remote', placement: 'remote', dequeuePerSec: 54_000 }),
    result({
      driver: 'redis-list',
      placement: 'remote',
      phase: 'open loop',
      operationsPerTransaction: 1,
      latencyMs: latency(0.3, 1.2),
    }),
    result({
      trial: 'sharded remote, open loop',
      placement: 'remote',
      phase: 'open loop',
      operationsPerTransaction: 1,
      latencyMs: latency(0.24, 1.8),
    }),
    result({ trial: names.standing(10), phase: 'standing backlog', dequeuePerSec: 100_000 }),
    result({ trial: names.standing(1_000), phase: 'standing backlog', dequeuePerSec: 95_000 }),
  ],
  standing: { small: 10, large: 1_000 },
};

const targetsFrom = (changed: BenchFigures) => {
  const targets = targetsOf(changed, ratiosOf(changed));
  return (name: string) => targets.find((target) => target.name === name)!;
};

describe('ratios and targets', () => {
  it('meet a target only from its value on, over the best raw rate of both page sizes', () => {
    const target = targetsFrom(figures);
    expect(target('queue10')).toMatchObject({ value: 0.7, met: true });
    expect(target('queue1000')).toMatchObject({ value: 0.75, met: false });
    expect(target('queue10EnqueueKeepsPace').met).toBe(true);
    expect(target('cpuUnshardedOverSharded')).toMatchObject({ value: 12.5, met: true });
  });

  it('take the worst size of transactions where a target holds for all, and name each', () => {
    const target = targetsFrom(figures)('unshardedOverRawCycle');
    expect(target.value).toBeCloseTo(0.6);
    expect(target.met).toBe(false);
    expect(target.reason).toMatch(/0\.8 .*; 0\.6 /);
  });

  it('compare remote with servers, synced ones and all', () => {
    const target = targetsFrom(figures);
    expect(target('overBestSyncedPeer')).toMatchObject({ value: 6, met: true });
    expect(target('overBestSyncedPeer').reason).toContain('redis-list always');
    expect(target('overBestPeer')).toMatchObject({ value: 1.8, met: false });
    expect(target('unshardedOverBestSqlitePeer')).toMatchObject({ value: 8, met: true });
  });

  it('compare each percentile of the latency with the best synced peer', () => {
    const target = targetsFrom(figures);
    expect(target('latencyP50')).toMatchObject({ bound: 'at most', met: true });
    expect(target('latencyP50').value).toBeCloseTo(0.8);
    expect(target('latencyP99')).toMatchObject({ value: 1.5, met: false });
  });

  it('do not take a small backlog for a large one', () => {
    expect(targetsFrom(figures)('backlog')).toMatchObject({ value: 0.95, met: false });
  });

  it('count what was not measured as not met, with the reason', () => {
    const target = targetsFrom({ ...figures, results: [] });
    for (const name of ['queue10', 'queue1x32', 'overBestPeer', 'latencyP50', 'eventLoopDelayHalfLoad']) {
      expect(target(name)).toMatchObject({ value: null, met: false });
      expect(target(name).reason).toMatch(/not measured/);
    }
  });

  it('take the median of odd and even counts', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spreadOf([4, 1, 2, 3]).median).toBe(2.5);
  });
});
