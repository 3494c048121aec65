import type { Tick } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { runAnnotations } from '../src/model/run-annotations.ts';

const tick = (atMs: number, events?: Tick['events']): Tick => ({
  atMs,
  trial: 0,
  program: 'queue',
  system: 'sharded',
  params: { instances: 2, threads: 2, roundTripMs: 0, payloadBytes: 64, operationsPerTransaction: 1 },
  phase: 'measure',
  instances: [],
  ...(events === undefined ? {} : { events }),
});

test('an event is marked at the time when it happened, not when it was reported', () => {
  const ticks = [
    tick(1_000),
    tick(2_000, [
      { type: 'kill', instance: 2, agoMs: 80 },
      { type: 'taken over', instance: 2, agoMs: 5 },
    ]),
    tick(9_000, [{ type: 'returned', instance: 2, agoMs: 0 }]),
  ];
  expect(runAnnotations(ticks, { fromMs: 0, toMs: 5_000 })).toEqual([
    { atMs: 1_920, label: 'instance 2 killed' },
    { atMs: 1_995, label: 'instance 2 taken over' },
  ]);
});
