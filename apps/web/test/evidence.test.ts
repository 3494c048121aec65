import type { Point, RunSummary } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { chosenRun, comparableEvidence, trustOf } from '../src/model/evidence.ts';
import { runHighlights } from '../src/model/run-highlights.ts';
import { type PointOptions, point } from './fixtures/points.ts';

const pair = (options: PointOptions, sharded: number, unsharded: number): Point[] => [
  point({ ...options, system: 'sharded', dequeuePerSec: sharded }),
  point({ ...options, system: 'unsharded', dequeuePerSec: unsharded }),
];

test('the headline compares systems at the most loaded common point, not at the largest ratio', () => {
  const found = comparableEvidence([
    ...pair({ instances: 1, threads: 1 }, 9_000, 100),
    ...pair({ instances: 4, threads: 32 }, 20_000, 4_000),
    ...pair({ instances: 4, threads: 8 }, 20_000, 200),
    ...pair({ instances: 4, threads: 32, roundTripMs: 1 }, 50_000, 10),
    point({ instances: 8, threads: 32, system: 'sharded', dequeuePerSec: 90_000 }),
  ]);
  expect(found?.sharded.params).toMatchObject({ instances: 4, threads: 32, roundTripMs: 0 });
  expect(found).toMatchObject({ ratio: 5, interval: null, repeats: 1, grouped: null });
});

test('points of different workloads are never compared', () => {
  const [sharded, unsharded] = pair({ instances: 1, threads: 8 }, 5_000, 1_000) as [Point, Point];
  const streamed = { ...unsharded, params: { ...unsharded.params, payloadBytes: 1_000_000 } };
  expect(comparableEvidence([sharded, streamed])).toBeNull();
  expect(comparableEvidence([sharded])).toBeNull();
  expect(comparableEvidence([...pair({}, 5_000, 0)])).toBeNull();
});

test('the highlights of a run name who commits, next to the ratio', () => {
  const at = { instances: 4, threads: 32 };
  const points = pair(at, 20_000, 4_000);
  const comparedAt = (all: Point[]) =>
    runHighlights({ points: all, claims: [] }).find(({ name }) => name === 'Compared at')?.value;
  expect(comparedAt(points)).toMatch(/\. Unsharded: each session commits for itself$/);
  const grouped = point({ ...at, system: 'unsharded-grouped', dequeuePerSec: 9_000 });
  expect(comparedAt([...points, grouped])).toMatch(
    /commits for itself; grouped: one writer commits for all$/,
  );
});

test('five repeats give the ratio an interval', () => {
  const [sharded, unsharded] = pair({}, 1_000, 500) as [Point, Point];
  const repeated = (each: Point, repeats: number[]): Point => ({
    ...each,
    figures: { dequeuePerSec: { ...each.figures.dequeuePerSec!, repeats } },
  });
  const found = comparableEvidence([
    repeated(sharded, [980, 1_000, 1_020, 1_010, 990]),
    repeated(unsharded, [500, 505, 495, 498, 502]),
  ]);
  expect(found?.repeats).toBe(5);
  expect(found?.interval?.[0]).toBeGreaterThan(1.9);
  expect(found?.interval?.[1]).toBeLessThan(2.1);
});

const environment = {
  cpuModel: 'x',
  cores: 2,
  memoryGiB: 4,
  platform: 'linux',
  fileSystem: 'ext4',
  syncMs: { p50: 1, p99: 2 },
  node: 'v26',
  sqlite: '3',
  commit: null,
  loadAverage: 0.2,
};
const conditions = (notSteady: number, disturbed: number) => ({ notSteady, disturbed, measuredAgain: 0 });

test('an undisturbed run of five repeats has no doubts, and says why in words', () => {
  const points = [{ ...point(), conditions: conditions(0, 0) }];
  expect(trustOf({ environment, points, watched: false }, 5)).toEqual({
    doubt: null,
    repeats: '5 repeats',
    load: 'load 0.2 before the run, on 2 cores',
    noise: 'its one point steady and undisturbed',
  });
});

test.each([
  { what: 'other work', rates: [[0, 1]], loadAverage: 0, noise: 'other work disturbed 1 of 1 point' },
  { what: 'unsteady repeats', rates: [[1, 0]], loadAverage: 0, noise: '1 of 1 point was not steady' },
  {
    what: 'both',
    rates: [
      [1, 1],
      [2, 0],
      [0, 0],
    ],
    loadAverage: 0,
    noise: 'other work disturbed 1 of 3 points, and 2 were not steady',
  },
  { what: 'a load before it began', rates: [null], loadAverage: 1.5, noise: expect.any(String) },
])('a run with $what is doubted', ({ what, rates, loadAverage, noise }) => {
  const points = rates.map((each) =>
    each === null ? point() : { ...point(), conditions: conditions(each[0]!, each[1]!) },
  );
  const trust = trustOf({ environment: { ...environment, loadAverage }, points, watched: false }, 1);
  expect(trust).toMatchObject({
    doubt: what === 'unsteady repeats' ? 'Not all rates were steady' : 'Measured on a busy machine',
    noise,
  });
  expect(trust.repeats).toContain('provisional');
});

test('the headline is of a finished run: the newest one at full scale, or else at quick scale', () => {
  const run = (
    id: string,
    status: RunSummary['status'],
    scale: RunSummary['scale'],
    createdAtMs: number,
  ) => ({
    id,
    status,
    scale,
    createdAtMs,
  });
  const runs = [
    run('running', 'running', 'full', 5),
    run('new-quick', 'done', 'quick', 4),
    run('old-full', 'done', 'full', 1),
    run('full', 'done', 'full', 2),
    run('cancelled', 'cancelled', 'full', 3),
  ];
  expect(chosenRun(runs)?.id).toBe('full');
  expect(chosenRun(runs.slice(0, 2))?.id).toBe('new-quick');
  expect(chosenRun(runs.map((each) => ({ ...each, imported: true as const })))).toBeNull();
  expect(chosenRun([])).toBeNull();
});

test('a load before the run raises no doubt if every repeat was checked and none was disturbed', () => {
  const points = [{ ...point(), conditions: conditions(0, 0) }];
  const run = { environment: { ...environment, loadAverage: 1.8 }, points, watched: false };
  expect(trustOf(run, 5)).toMatchObject({ doubt: null, load: 'load 1.8 before the run, on 2 cores' });
});
