import { figureOf, pointKey, type Run, type RunEvent } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { integrityFaults } from '../src/model/integrity-faults.ts';
import { applyRunEvent, type FollowedRun, isFinished, ticksMax } from '../src/model/run-state.ts';
import { topWaits } from '../src/model/top-waits.ts';
import { point } from './fixtures/points.ts';
import { recorded } from './fixtures/recorded.ts';

const fresh: Run = { ...recorded.run, status: 'running', points: [], claims: [] };
const follow = (events: RunEvent[], from: FollowedRun | null = null) => events.reduce(applyRunEvent, from);
const snapshot: RunEvent = { type: 'snapshot', run: fresh, ticks: [] };
const tickEvents = recorded.ticks.map((tick): RunEvent => ({ type: 'tick', tick }));

test('following a run from its start or from the middle gives the same result', () => {
  const pointEvents = recorded.run.points.map(
    (measured): RunEvent => ({ type: 'point', point: measured, claims: [] }),
  );
  const end: RunEvent = { type: 'end', run: recorded.run };
  const whole = follow([snapshot, ...tickEvents, ...pointEvents, end]);
  const middle: RunEvent = {
    type: 'snapshot',
    run: { ...fresh, points: recorded.run.points.slice(0, 3) },
    ticks: recorded.ticks.slice(0, 20),
  };
  const joined = follow([middle, ...tickEvents.slice(20), ...pointEvents.slice(3), end]);
  expect(joined).toEqual(whole);
  expect(joined!.run).toEqual(recorded.run);
});

test('events before the snapshot are dropped', () => {
  expect(follow(tickEvents.slice(0, 3))).toBeNull();
});

test('a point that is sent again after more repeats replaces the first one', () => {
  const first = point({ dequeuePerSec: 100 });
  const better = point({ dequeuePerSec: 120 });
  const state = follow([
    snapshot,
    { type: 'point', point: first, claims: [] },
    { type: 'point', point: point({ threads: 4 }), claims: [] },
    { type: 'point', point: better, claims: [] },
  ]);
  expect(state!.run.points.map(pointKey)).toEqual([pointKey(first), pointKey(point({ threads: 4 }))]);
  expect(figureOf(state!.run.points[0]!, 'dequeuePerSec')).toBe(120);
});

test('ticks repeated after a reconnection are counted once', () => {
  const state = follow([snapshot, ...tickEvents, ...tickEvents.slice(-5)]);
  expect(state!.ticks).toHaveLength(recorded.ticks.length);
});

test('the number of ticks is limited, and what is dropped is spread over the whole run', () => {
  const base = recorded.ticks[0]!;
  const ticks = Array.from({ length: ticksMax }, (_, index) => ({ ...base, atMs: index }));
  const state = follow([{ type: 'tick', tick: { ...base, atMs: ticksMax } }], { run: fresh, ticks });
  expect(state!.ticks).toHaveLength(ticksMax / 2 + 1);
  expect(state!.ticks.slice(0, 2).map(({ atMs }) => atMs)).toEqual([0, 2]);
  expect(state!.ticks.at(-1)!.atMs).toBe(ticksMax);
});

test('a status event stores its error', () => {
  const error = { code: 'DISK_FULL', message: 'The disk is full', retryable: true };
  const state = follow([snapshot, { type: 'status', status: 'failed', error }]);
  expect(state!.run).toMatchObject({ status: 'failed', error });
  expect(isFinished('failed')).toBe(true);
  expect(isFinished('queued')).toBe(false);
});

test('messages left after the drain do not violate integrity', () => {
  const integrity = { lost: 1, duplicated: 2, damaged: 0, outOfOrder: 0, left: 50 };
  expect(integrityFaults([{ ...point(), integrity }, point()])).toBe(3);
});

test('wait events are summed by system; idle ones have no share', () => {
  const wait = { class: 'commit' as const, waits: 10, p99Ms: 3, emulated: false };
  const waits = [
    { ...wait, event: 'log file sync', totalMs: 300 },
    { ...wait, event: 'backlog read', class: 'configuration' as const, totalMs: 100, p99Ms: 9 },
    { ...wait, event: 'waiting for messages', class: 'idle' as const, totalMs: 9_000 },
    { ...wait, event: 'write lock', waits: 0, totalMs: 0 },
  ];
  const all = topWaits([
    { ...point(), waits },
    { ...point({ threads: 4 }), waits: waits.slice(0, 1) },
  ]);
  expect(all.map(({ event, totalMs }) => [event, totalMs])).toEqual([
    ['waiting for messages', 9_000],
    ['log file sync', 600],
    ['backlog read', 100],
  ]);
  expect(all.map(({ share }) => share)).toEqual([null, 600 / 700, 100 / 700]);
});
