import { pointKey, type Tick } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { newRun } from '../src/index.ts';
import { ticksToReplay } from '../src/recorded/recorded-run.ts';
import { point, smallScenario } from './support.ts';

const points = [
  point({ threads: 1, deq: 9_000 }),
  point({ system: 'unsharded', threads: 1, deq: 1_000 }),
  point({ threads: 8, deq: 5_000 }),
  point({ system: 'unsharded', threads: 8, deq: 2_000 }),
  point({ threads: 32, deq: 4_000 }),
  point({ system: 'unsharded', threads: 32, deq: 1_500 }),
  point({ threads: 16, deq: 4_500 }),
];

test('ticks are kept of the points at which a system was best or a headline compares, for all systems', () => {
  const run = { ...newRun({ id: 'a', scenario: smallScenario({}), scale: 'full', createdAtMs: 0 }), points };
  const ticks = points.map(({ program, system, params }, trial) => ({
    ...{ atMs: trial, trial, program, system, params },
    phase: 'measure',
    instances: [],
  })) satisfies Tick[];
  const kept = ticksToReplay(run, 'dequeuePerSec', ticks).map(pointKey);
  expect(kept).toEqual(points.slice(0, 6).map(pointKey));
});
