/**
 * Runs of impostors on the real harness. They are arrays in memory that claim to commit, with consistent time books, and go through
 * complete runs: processes, windows, steadiness, time books, the kernel's counters, raw probes, the ledger and the kill.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DurabilityEvidence, Point, Run, Scenario } from '@shardlab/contract';
import { bundledStudies, parseScenario, startRun } from '@shardlab/lab';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningImpostor, studiesOfImpostors } from '../src/impostors/run-impostors.ts';
import { smallScenario, withGrouped } from './support.ts';

const { claims } = bundledStudies.studies.find(({ id }) => id === 'white-paper')!;
const claimIds = claims.map(({ id }) => id);
const weakIds = claims.filter(({ weak }) => weak !== undefined).map(({ id }) => id);
const repeats = 2;
const payloadBytes = 512;

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

/** Runs impostors in place of the systems, with a backlog, so that the queue has messages when it is killed. */
function runOf(
  places: Readonly<Record<string, RunningImpostor>>,
  threads: number[],
  changes: Pick<Scenario, 'repeats' | 'probes'>,
) {
  const scenario = smallScenario({
    claims: claimIds,
    systems: Object.keys(places),
    parameters: { payloadBytes, operationsPerTransaction: 10, backlog: 1_000, backlogMax: 5_000 },
    sweep: { instances: [1], threads },
    phases: { warmupMs: 50, measureMs: 250, drainMs: 10_000 },
    kills: true,
    ...changes,
  });
  return startRun({ scenario, scale: 'quick', dataDir, studies: studiesOfImpostors(places) });
}

/** Judges without a file system, since an impostor has no files. */
const judge = (points: readonly Point[]) => bundledStudies.judge(claimIds, points, { cores: 2 });
const held = (points: readonly Point[]) => judge(points).filter(({ verdict }) => verdict === 'holds');
const contradictionsOf = ({ conditions }: Point) => conditions?.contradictions ?? [];

/** Judges as if neither a kill nor the kernel had exposed the impostors: what holds is marked as weak, or says that counters are missing. */
function expectWeakOnly(points: readonly Point[]): void {
  const judged = judge(unseen(unkilled(points, 'shown')));
  expect(judged.filter(({ weak }) => weak === null)).toEqual([]);
  const unmarked = judged.filter(
    ({ id, verdict, reason }) =>
      verdict === 'holds' &&
      !weakIds.includes(id) &&
      !reason.includes('Weak: The counters of the kernel are missing'),
  );
  expect(unmarked).toEqual([]);
}

/** The points as if no trial had been killed, with other evidence of durability. */
const unkilled = (points: readonly Point[], durability: DurabilityEvidence): Point[] =>
  withGrouped(points).map(({ killed: _, integrity, ...point }) => ({
    ...point,
    integrity: { ...integrity, lost: 0, durability },
  }));

/** The points as measured on a platform without `/proc`. */
const unseen = (points: readonly Point[]): Point[] =>
  points.map(({ figures, ...point }) => {
    const { writtenBytesPerSec: _written, blocksPerSec: _blocks, kernelCores: _cores, ...rest } = figures;
    return { ...point, figures: rest };
  });

describe('a counter in memory as the sharded queue, and a capped rate as the unsharded one', () => {
  let run: Run;
  beforeAll(async () => {
    run = await runOf({ sharded: 'counter', unsharded: 'capped' }, [4, 16], { repeats });
  }, 120_000);

  test('are measured like queues, with time books that add up and a wait for a sync at each commit', () => {
    expect(run).toMatchObject({ status: 'done', error: null });
    expect(run.points).toHaveLength(4);
    for (const { repeats: measured, byInstance, figures, waits, integrity } of run.points) {
      expect(measured).toHaveLength(repeats);
      for (const { steady, disturbance } of measured) expect([steady, disturbance]).not.toContain(undefined);
      for (const share of byInstance.timeAccounted!) expect(share).toBeGreaterThan(0.95);
      expect(figures.syncsPerSec!.value).toBeGreaterThan(0);
      expect(waits.map(({ event }) => event)).toContain('log file sync');
      expect(integrity).toMatchObject({ duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 });
    }
  });

  test('lose acknowledged messages in a kill, so that no claim holds', () => {
    const killed = run.points.filter((point) => point.killed !== undefined);
    expect(killed.map(({ system }) => system)).toEqual(['sharded', 'unsharded']);
    for (const point of killed) {
      expect(point.killed!.lost).toBeGreaterThan(0);
      expect(point.killed!.recovered).toBe(0);
      expect(point.integrity).toMatchObject({ durability: 'not shown', lost: point.killed!.lost });
    }
    // Points without a kill lose nothing, since their processes live until the end.
    for (const point of run.points) if (point.killed === undefined) expect(point.integrity.lost).toBe(0);
    expect(run.claims.filter(({ verdict }) => verdict === 'holds')).toEqual([]);
    expect(run.claims.find(({ id }) => id === 'A3')).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('Messages were lost'),
    });
  });

  test.runIf(platform() === 'linux')(
    'are contradicted by the kernel, which counts that they write nothing',
    () => {
      // In a repeat that a busy machine disturbed, another contradiction may be reported first.
      for (const point of run.points) {
        const { writtenBytesPerSec, enqueuePerSec } = point.figures;
        expect(contradictionsOf(point)).toHaveLength(repeats);
        expect(writtenBytesPerSec!.value).toBeLessThan(0.1 * payloadBytes * enqueuePerSec!.value);
      }
      for (const [, points] of Map.groupBy(run.points, ({ system }) => system))
        expect(points.flatMap(contradictionsOf)).toContainEqual(
          expect.stringMatching(/its processes wrote .* MiB a second, and its messages have/),
        );
      expect(held(unkilled(run.points, 'shown'))).toEqual([]);
    },
  );

  test('make no claim hold if no trial was killed, even without counters of the kernel', () => {
    expect(held(unseen(unkilled(run.points, 'not sampled')))).toEqual([]);
  });

  test('make only claims hold that are marked as weak, if neither a kill nor the kernel exposes them', () => {
    // On a quiet machine the claims A3 and A9 hold here.
    expectWeakOnly(run.points);
  });
});

test('clients that set the pace as the sharded queue, and a random rate as the unsharded one, make no claim hold', async () => {
  const run = await runOf({ sharded: 'client-bound', unsharded: 'random' }, [4, 16], { repeats });
  expect(run).toMatchObject({ status: 'done', error: null });
  const killed = run.points.filter((point) => point.killed !== undefined);
  expect(killed.map(({ system }) => system)).toEqual(['sharded', 'unsharded']);
  for (const point of killed) {
    expect(point.killed!.lost).toBeGreaterThan(0);
    expect(point.killed!.recovered).toBe(0);
  }
  expect(run.claims.filter(({ verdict }) => verdict === 'holds')).toEqual([]);
  if (platform() === 'linux')
    expect(run.points.flatMap(contradictionsOf)).toContainEqual(expect.stringMatching(/its processes wrote/));
  expect(held(unseen(unkilled(run.points, 'not sampled')))).toEqual([]);
  expectWeakOnly(run.points);
}, 120_000);

test('an array that also writes to a device that discards all agrees with the counters of the kernel, but loses messages in a kill', async () => {
  const run = await runOf({ sharded: 'discarding' }, [4], { repeats: 1, probes: true });
  const [point] = run.points;
  const { writtenBytesPerSec, enqueuePerSec, rawRatio } = point!.figures;
  expect(rawRatio!.value).toBeGreaterThan(0);
  if (platform() === 'linux')
    expect(writtenBytesPerSec!.value).toBeGreaterThan(0.8 * payloadBytes * enqueuePerSec!.value);
  expect(contradictionsOf(point!).filter((words) => words.includes('processes wrote'))).toEqual([]);
  expect(point!.killed!.lost).toBeGreaterThan(0);
  expect(point!.integrity.durability).toBe('not shown');
  expect(run.claims.filter(({ verdict }) => verdict === 'holds')).toEqual([]);
});

test('no scenario can name an impostor', () => {
  const scenario = smallScenario({ systems: ['sharded'] });
  const faults = (changes: object) => parseScenario({ ...scenario, ...changes });
  expect(faults({})).toMatchObject({ ok: true });
  expect(faults({ systems: ['counter'] })).toMatchObject({ ok: false });
  expect(faults({ parameters: { ...scenario.parameters, hostModule: 'x' } })).toMatchObject({ ok: false });
});
