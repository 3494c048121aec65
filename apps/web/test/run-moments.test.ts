import type { Tick } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { runMoments } from '../src/model/run-moments.ts';

const tick = (atMs: number, happened?: Tick['happened']): Tick => ({
  atMs,
  trial: 0,
  implementation: 'sharded',
  params: { instances: 2, threads: 2, roundTripMs: 0, payloadBytes: 64, operationsPerTransaction: 1 },
  phase: 'measure',
  instances: [],
  ...(happened === undefined ? {} : { happened }),
});

test('what happened to an instance is marked when it did, not when it was told', () => {
  const ticks = [
    tick(1_000),
    tick(2_000, [
      { what: 'kill', instance: 2, agoMs: 80 },
      { what: 'taken over', instance: 2, agoMs: 5 },
    ]),
    tick(9_000, [{ what: 'given back', instance: 2, agoMs: 0 }]),
  ];
  expect(runMoments(ticks, { fromMs: 0, toMs: 5_000 })).toEqual([
    { atMs: 1_920, label: 'instance 2 killed' },
    { atMs: 1_995, label: 'instance 2 taken over' },
  ]);
});
