import type { Point, Repeat, Tick, WaitSummary } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { createContentionChart } from '../src/charts/contention-chart.ts';
import { queueSessions, sessionsAt, whySentence } from '../src/model/contention.ts';
import { layoutContention, type SideInput } from '../src/model/contention-layout.ts';
import { point } from './fixtures/points.ts';
import { savedFile, svgElement } from './fixtures/svg-page.ts';

const wait = (event: string, totalMs: number, waitClass: WaitSummary['class']): WaitSummary => ({
  event,
  class: waitClass,
  waits: 10,
  totalMs,
  p99Ms: 1,
  emulated: false,
});
const repeat: Repeat = { measuredMs: 1_000, byInstance: {}, waitMs: {} };

const measured = (system: string, waits: WaitSummary[], cpuShare: number[]): Point => ({
  ...point({ system, instances: 4, threads: 32 }),
  waits,
  byInstance: { cpuShare },
  repeats: [repeat, repeat],
});
const unsharded = measured(
  'unsharded',
  [
    wait('write lock', 110_000, 'concurrency'),
    wait('log file sync', 12_320, 'commit'),
    wait('flow control', 90_000, 'configuration'),
    wait('client round trip', 90_000, 'network'),
    wait('waiting for messages', 90_000, 'idle'),
  ],
  [0.21, 0.21, 0.21, 0.21],
);
const sharded = measured('sharded', [wait('log file sync', 80_000, 'commit')], [0.4, 0.4, 0.4, 0.4]);

test('sessions of a queue are those on CPU or in a wait of the queue, over all repeats', () => {
  const { total, cores, waits } = queueSessions(unsharded);
  expect(cores).toBeCloseTo(0.84);
  expect(total).toBeCloseTo(62);
  expect(waits.map(({ event, sessions }) => [event, sessions])).toEqual([
    ['write lock', 55],
    ['log file sync', 6.16],
  ]);
});

test('the sentence explains from the waits why one queue is slower, at a point of both', () => {
  expect(whySentence([unsharded, sharded], 2)).toBe(
    'With 4 instances and 32 threads, of 62 sessions working or waiting for the unsharded queue, 55 wait for the write lock; 0.84 of 2 cores are busy. ' +
      'Of 42 for the sharded queue, 40 wait for “log file sync”, in 4 files at once; 1.6 of 2 cores are busy.',
  );
});

test('the sentence says for how long the lock is held, if that was recorded', () => {
  const record = { event: 'write lock', instance: null, everyMs: 20, sessions: [], samples: [] };
  expect(whySentence([{ ...unsharded, holders: [{ ...record, holds: 1_000, heldMs: 812 }] }], 2)).toBe(
    'With 4 instances and 32 threads, of 62 sessions working or waiting for the unsharded queue, 55 wait for the write lock, which is held for 812\u202fµs at a time; 0.84 of 2 cores are busy.',
  );
});

test('the sentence says if sessions of a queue wait for nothing, and is missing for a queue without activity', () => {
  expect(whySentence([measured('sharded', [], [0.5])], null)).toBe(
    'With 4 instances and 32 threads, of 0.5 sessions working or waiting for the sharded queue, none waits; 0.5 cores are busy.',
  );
  expect(whySentence([measured('sharded', [], [])], 2)).toBeNull();
  expect(whySentence([], 2)).toBeNull();
});

const tick = (system: string, instances: number, waitMs: Record<string, number>): Tick => ({
  atMs: 1_000,
  trial: 1,
  program: 'queue',
  system,
  params: { instances, threads: 32 },
  phase: 'measure',
  instances: Array.from({ length: instances }, (_, index) => ({
    instance: index + 1,
    spanMs: 250,
    enqueuePerSec: 500,
    dequeuePerSec: 500,
    cpu: 0.25,
    latencyMs: { p50: 1, p99: 2 },
    waitMsByClass: waitMs,
    shards: [],
  })),
});

test('waits are averaged over the time span of their sample, even if ticks before it were left out', () => {
  const one = tick('sharded', 1, { commit: 500 });
  const longer = { ...one, instances: one.instances.map((sample) => ({ ...sample, spanMs: 1_000 })) };
  expect(sessionsAt(one).instances[0]!.commit).toBe(2);
  expect(sessionsAt(longer).instances[0]!.commit).toBe(0.5);
});

test('a long wait that is counted when it ends never makes more sessions wait than there are', () => {
  const now = sessionsAt(tick('sharded', 2, { commit: 1_000_000 }));
  expect(now.sessions).toBe(64);
  expect(now.instances.map(({ commit }) => commit)).toEqual([32, 32]);
});

const side = (system: string, gate: string, shown: Tick | null): SideInput => ({
  system,
  title: `${system}, 2 instances, 32 threads`,
  when: '0:01, as it was',
  isNow: false,
  isUnderWay: false,
  sessions: shown === null ? null : sessionsAt(shown),
  gate,
});
const sides = [
  side('sharded', '', tick('sharded', 2, { commit: 5_000 })),
  side('unsharded', 'the write lock', tick('unsharded', 2, { concurrency: 7_000, commit: 250 })),
];

test('every session is a dot: waiters in front of the one gate, committers in the gates of all files', () => {
  const layout = layoutContention(sides, 1_000);
  const [shardedSide, unshardedSide] = layout.sides;
  expect(layout.perDot).toBe(1);
  expect(shardedSide!.lanes).toHaveLength(2);
  expect(unshardedSide!.lanes).toHaveLength(1);
  for (const { dots } of layout.sides) expect(dots).toHaveLength(64);
  const [gate] = unshardedSide!.lanes;
  const waiting = unshardedSide!.dots.filter(({ role }) => role === 'waiting');
  expect(waiting).toHaveLength(56);
  for (const { x } of waiting) expect(x).toBeLessThan(gate!.x);
  expect(unshardedSide!.counter).toMatchObject({ value: '56', label: 'wait for the write lock' });
  expect(shardedSide!.counter).toMatchObject({ value: '40', label: 'commit, 2 files at once' });
  for (const { dots, lanes, x, width } of layout.sides)
    for (const dot of dots) {
      expect(dot.x).toBeGreaterThanOrEqual(x);
      expect(dot.x).toBeLessThanOrEqual(x + width);
      if (dot.role === 'committing') expect(dot.x).toBeLessThan(lanes[0]!.x + lanes[0]!.width);
    }
});

test('a dot stands for several of many sessions, and a narrow page has the queues one above the other', () => {
  const busy = { ...tick('sharded', 2, {}), params: { instances: 2, threads: 256 } };
  const layout = layoutContention([side('sharded', '', busy), side('unsharded', '', null)], 360);
  expect(layout.perDot).toBe(6);
  expect(layout.sides.map(({ x }) => x)).toEqual([0, 0]);
  expect(layout.sides[1]).toMatchObject({ figure: 'not measured', dots: [], counter: null });
});

test('a rate that does not fit beside a long title is placed below it', () => {
  const long = { ...sides[1]!, title: 'Unsharded, 1 instance, 1 thread, 5 ms round trip' };
  const belowAt = (width: number) =>
    layoutContention([sides[0]!, long], width).sides.map(({ figureIsBelow }) => figureIsBelow);
  expect(belowAt(356)).toEqual([false, true]);
  expect(belowAt(1_000)).toEqual([false, false]);
});

test('the contention chart of both queues', async () => {
  const element = svgElement();
  createContentionChart(element).update(layoutContention(sides, 760));
  await expect(savedFile(element, 'Sessions')).toMatchFileSnapshot('__svg__/contention.svg');
});
