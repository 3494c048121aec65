/**
 * Runs of impostors on the real harness. They are arrays in memory that claim to commit, with consistent time books, and go through
 * complete runs: processes, windows, steadiness, time books, the kernel's counters, raw probes, the ledger and the kill. One run is of
 * a queue that does what the document says. `npm run controls` runs more of them, with five repeats.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Point, Run, Scenario } from '@shardlab/contract';
import { parseScenario, startRun } from '@shardlab/lab';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AnalyticSystem } from '../src/impostors/analytic-system.ts';
import { claimIds, heldBy, impostorControls, referenceControl, resultOf } from '../src/impostors/controls.ts';
import { capped, clientBound, counter } from '../src/impostors/impostors.ts';
import { randomisedPair } from '../src/impostors/randomised.ts';
import { type RunningSystem, studiesOf } from '../src/impostors/run-impostors.ts';
import { withoutKernelCounters, withoutKills } from '../src/impostors/unexposed.ts';
import { smallScenario, withGrouped } from './support.ts';

const repeats = 2;
const payloadBytes = 512;

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const inArray = (formula: AnalyticSystem, discards = false): RunningSystem => ({
  formula,
  host: 'array',
  discards,
});

/** Runs impostors in place of the systems, with a backlog, so that the queue has messages when it is killed. */
function runOf(
  places: Readonly<Record<string, RunningSystem>>,
  sweep: { instances: number[]; threads: number[] },
  changes: Pick<Scenario, 'repeats' | 'probes'>,
) {
  const scenario = smallScenario({
    claims: claimIds,
    systems: Object.keys(places),
    parameters: { payloadBytes, operationsPerTransaction: 10, backlog: 1_000, backlogMax: 5_000 },
    sweep,
    phases: { warmupMs: 50, measureMs: 250, drainMs: 10_000 },
    kills: true,
    ...changes,
  });
  return startRun({ scenario, scale: 'quick', dataDir, studies: studiesOf(places) });
}

const contradictionsOf = ({ conditions }: Point) => conditions?.contradictions ?? [];

/** A kill shows of each system that it loses what it acknowledged, so no claim holds, nor would one without the kill. */
function expectExposed({ status, error, points, claims: judged }: Run, systems: string[]): void {
  expect([status, error]).toEqual(['done', null]);
  const killed = points.filter((point) => point.killed !== undefined);
  expect(killed.map(({ system }) => system)).toEqual(systems);
  for (const point of killed) {
    expect(point.killed!.lost).toBeGreaterThan(0);
    expect(point.killed!.recovered).toBe(0);
    expect(point.integrity).toMatchObject({ durability: 'not shown', lost: point.killed!.lost });
  }
  // Points without a kill lose nothing, since their processes live until the end.
  for (const point of points) if (point.killed === undefined) expect(point.integrity.lost).toBe(0);
  expect(judged.filter(({ verdict }) => verdict === 'holds')).toEqual([]);
  const all = withGrouped(points);
  expect(heldBy(withoutKernelCounters(withoutKills(all, 'not sampled')))).toEqual([]);
  // In a repeat that a busy machine disturbed, another contradiction may be reported first.
  if (platform() === 'linux')
    expect(points.flatMap(contradictionsOf)).toContainEqual(
      expect.stringMatching(/its processes wrote .* MiB a second, and its messages have/),
    );
}

describe('a counter in memory as the sharded queue, and a capped rate as the unsharded one', () => {
  let run: Run;
  beforeAll(async () => {
    const places = { sharded: inArray(counter), unsharded: inArray(capped(6_000)) };
    run = await runOf(places, { instances: [1], threads: [4, 16] }, { repeats });
  }, 120_000);

  test('are measured like queues, with time books that add up and a wait for a sync at each commit', () => {
    expect(run).toMatchObject({ status: 'done', error: null });
    expect(run.points).toHaveLength(4);
    for (const { repeats: measured, byInstance, waits, integrity } of run.points) {
      expect(measured).toHaveLength(repeats);
      for (const { steady, disturbance } of measured) expect([steady, disturbance]).not.toContain(undefined);
      for (const share of byInstance.timeAccounted!) expect(share).toBeGreaterThan(0.95);
      expect(waits.map(({ event }) => event)).toContain('log file sync');
      expect(integrity).toMatchObject({ duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 });
    }
  });

  test('lose acknowledged messages in a kill, so that no claim holds', () => {
    expectExposed(run, ['sharded', 'unsharded']);
    expect(run.claims.find(({ id }) => id === 'A3')).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('Messages were lost'),
    });
  });

  test.runIf(platform() === 'linux')(
    'are contradicted by the kernel, which counts that they write nothing',
    () => {
      for (const point of run.points) {
        const { writtenBytesPerSec, enqueuePerSec } = point.figures;
        expect(contradictionsOf(point)).toHaveLength(repeats);
        expect(writtenBytesPerSec!.value).toBeLessThan(0.1 * payloadBytes * enqueuePerSec!.value);
      }
      expect(heldBy(withoutKills(withGrouped(run.points), 'shown'))).toEqual([]);
    },
  );
});

test('clients that set the pace as the sharded queue, and one that is drawn at random as the unsharded one, make no claim hold', async () => {
  const { unsharded } = randomisedPair(3).systems;
  const places = { sharded: inArray(clientBound), unsharded: inArray(unsharded) };
  const run = await runOf(places, { instances: [1, 2], threads: [4] }, { repeats: 1 });
  expectExposed(run, ['sharded', 'unsharded']);
}, 120_000);

test('arrays as topics, one with a copy for each of ten subscribers, deliver to all of them, and make no claim hold', async () => {
  const [control] = impostorControls({ program: 'topic', instances: [1], threads: [2], repeats: 1 });
  const { places, scenario } = control!;
  const systems = ['sharded', 'unsharded'];
  const run = await startRun({
    scenario: { ...scenario, systems, parameters: { ...scenario.parameters, backlog: 100, backlogMax: 200 } },
    scale: 'full',
    dataDir,
    studies: studiesOf(places),
  });
  expect(run.points.map(({ system }) => system)).toEqual(systems);
  for (const { figures, integrity, killed } of run.points) {
    expect(figures.dequeuePerSec!.value).toBeGreaterThan(5 * figures.enqueuePerSec!.value);
    expect(integrity).toMatchObject({ duplicated: 0, damaged: 0, outOfOrder: 0, lost: killed!.lost });
  }
  expect(resultOf(control!, run)).toMatchObject({ held: [], faults: [] });
}, 120_000);

test('an array that also writes to a device that discards all agrees with the counters of the kernel, but loses messages in a kill', async () => {
  const places = { sharded: inArray(counter, true) };
  const run = await runOf(places, { instances: [1], threads: [4] }, { repeats: 1, probes: true });
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

test('a queue that does what the document says, on the engine, survives the kill and writes its messages', async () => {
  const control = referenceControl({ instances: [1], threads: [8], repeats: 1 });
  // The kernel's counters are read by another process, which a busy machine delays.
  const phases = { warmupMs: 300, measureMs: 1_000, drainMs: 10_000 };
  const scenario = { ...control.scenario, systems: ['sharded', 'unsharded'], phases };
  const run = await startRun({ scenario, scale: 'full', dataDir, studies: studiesOf(control.places) });
  expect([run.status, run.error]).toEqual(['done', null]);
  for (const { killed, integrity, figures } of run.points) {
    expect(killed).toMatchObject({ lost: 0 });
    expect(integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, durability: 'shown' });
    const { writtenBytesPerSec, enqueuePerSec } = figures;
    if (platform() === 'linux')
      expect(writtenBytesPerSec!.value).toBeGreaterThan(0.8 * payloadBytes * enqueuePerSec!.value);
  }
  // It falls behind, so that there is something to recover.
  expect(run.points.find(({ system }) => system === 'unsharded')!.killed!.recovered).toBeGreaterThan(0);
  const { sharded, unsharded } = Object.groupBy(run.points, ({ system }) => system);
  const cpuUs = (points?: Point[]) => points![0]!.figures.cpuUsPerMessage!.value;
  expect(cpuUs(unsharded)).toBeGreaterThan(2 * cpuUs(sharded));
}, 120_000);

test('a control says what is wrong with it', async () => {
  const places = { sharded: inArray(counter) };
  const run = await runOf(places, { instances: [1], threads: [4] }, { repeats: 1 });
  const impostor = { isReference: false };
  expect(resultOf(impostor, run)).toMatchObject({ held: [], faults: [] });
  const queue = { isReference: true };
  expect(resultOf(queue, run).faults).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/sharded lost \d+ messages in a kill and recovered 0/),
      expect.stringContaining('A3 inconclusive'),
    ]),
  );
  const shown: Run = {
    ...run,
    points: run.points.map(({ killed: _, ...point }) => point),
    claims: run.claims.map((claim) => (claim.id === 'A3' ? { ...claim, verdict: 'holds' } : claim)),
  };
  expect(resultOf(impostor, shown).faults).toEqual(['sharded was not killed', 'claims hold: A3']);
  expect(
    resultOf(impostor, {
      ...run,
      status: 'failed',
      error: { code: 'X', message: 'no space', retryable: false },
    }).faults,
  ).toEqual(['its run ended: no space']);
});

test('no scenario can name an impostor', () => {
  const scenario = smallScenario({ systems: ['sharded'] });
  const faults = (changes: object) => parseScenario({ ...scenario, ...changes });
  expect(faults({})).toMatchObject({ ok: true });
  expect(faults({ systems: ['counter'] })).toMatchObject({ ok: false });
  expect(faults({ parameters: { ...scenario.parameters, otherHost: 'x' } })).toMatchObject({ ok: false });
});
