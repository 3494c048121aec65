/** Small real trials of the program `xa`: calls, syncs, waits, and that every message arrives. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, it, onTestFinished } from 'vitest';
import { syncTimesOf } from '../src/programs/xa/xa-params.ts';
import { planRun } from '../src/run/plan-run.ts';
import { parseScenario } from '../src/scenario/parse-scenario.ts';
import type { TrialOutcome } from '../src/trial/trial.ts';

const whole = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
const messagesPerSession = 6;

const scenarioOf = (system: string, { sessions, ...params }: Record<string, string | number>) =>
  parseScenario(
    JSON.stringify({
      $schema: './scenario.schema.json',
      version: 2,
      id: 'small',
      title: 'Small',
      question: 'Does it run?',
      study: 'xa',
      claims: [],
      seed: 7,
      program: 'xa',
      systems: [system],
      parameters: { messagesPerSession, ...params },
      sweep: { sessions: [sessions] },
      phases: { warmupMs: 0, measureMs: 100, drainMs: 0 },
      repeats: 1,
    }),
  );

async function runTrial(system: string, params: Record<string, string | number>): Promise<TrialOutcome> {
  const parsed = scenarioOf(system, params);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  const { scenario } = parsed;
  const { program, trials } = planRun(scenario, 'full', bundledStudies);
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-xa-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return await program.run({ trial: trials[0]!, scenario, phases: scenario.phases, dir: join(dir, 'trial') });
}

const twoBranches = { transaction: 'two-branches', sessions: 2 } as const;

describe('the program xa', () => {
  it('commits two branches on one instance with nine calls, one of which answers read-only', async () => {
    const { figures, integrity, sessionWaits, sequence, provenance } = await runTrial('xa-embedded', {
      ...twoBranches,
      instances: 1,
    });
    expect(integrity).toEqual(whole);
    expect(provenance).toBe('measured');
    expect(figures).toMatchObject({
      callsPerTransaction: 9,
      roundTripsPerTransaction: 9,
      readOnlyPerTransaction: 1,
      syncsPerTransaction: 2,
      inDoubt: 0,
    });
    expect(sequence!.map(({ name }) => name)).toEqual([
      'coordinator',
      'branch 1: session 1 on instance 1',
      'branch 2: session 2 on instance 1',
    ]);
    expect(sequence![0]!.calls.map(({ name }) => name)).toEqual(['work', 'prepare', 'commit']);
    const calls = sequence!.slice(1).flatMap((lane) => lane.calls.map(({ name }) => name));
    const times = (name: string) => calls.filter((call) => call === name).length;
    expect(['xa_start', 'enqueue', 'xa_end', 'xa_prepare', 'xa_commit'].map(times)).toEqual([2, 2, 2, 2, 1]);
    const syncs = sessionWaits!.flatMap(({ rows }) => rows.filter(({ event }) => event === 'log file sync'));
    expect(syncs.reduce((sum, { waits }) => sum + waits, 0)).toBe(2 * messagesPerSession);
    for (const { elapsedMs, cpuMs, rows } of sessionWaits!) {
      const explained = rows.reduce((sum, { totalMs }) => sum + totalMs, cpuMs);
      expect(Math.abs(explained - elapsedMs)).toBeLessThan(0.05 * elapsedMs);
    }
  });

  it('commits two branches on two instances, served by other processes, with ten calls', async () => {
    const { figures, integrity } = await runTrial('xa-remote', {
      ...twoBranches,
      instances: 2,
      work: 'dequeue',
    });
    expect(integrity).toEqual(whole);
    expect(figures).toMatchObject({
      callsPerTransaction: 10,
      roundTripsPerTransaction: 10,
      readOnlyPerTransaction: 0,
      syncsPerTransaction: 4,
      inDoubt: 0,
    });
    expect(figures.cpuUsPerTransaction).toBeGreaterThanOrEqual(0);
  });

  it('ships the work of the other instance if branches are tightly coupled: nine round trips, and one branch at a time', async () => {
    const { figures, integrity, waits } = await runTrial('xa-remote', {
      ...twoBranches,
      instances: 2,
      coupling: 'tight-branches',
      interconnectMs: 2,
    });
    expect(integrity).toEqual(whole);
    expect(figures).toMatchObject({
      callsPerTransaction: 9,
      roundTripsPerTransaction: 9,
      readOnlyPerTransaction: 1,
      syncsPerTransaction: 2,
      activeTogetherShare: 0,
      inDoubt: 0,
    });
    // Its start, flush or end, and prepare at least are messages to the home instance.
    expect(figures.lockWaitsPerTransaction).toBeGreaterThanOrEqual(3);
    expect(figures.lockMsPerTransaction).toBeGreaterThanOrEqual(3 * 2 * 0.9);
    expect(waits.find(({ event }) => event === 'global transaction lock')).toMatchObject({ emulated: true });
  });

  it('takes nine on one instance too if tightly coupled branches are prepared at the same time', async () => {
    const { figures, integrity } = await runTrial('xa-remote', {
      ...twoBranches,
      instances: 1,
      coupling: 'tight',
      work: 'dequeue',
    });
    expect(integrity).toEqual(whole);
    expect(figures).toMatchObject({ roundTripsPerTransaction: 9, readOnlyPerTransaction: 1, inDoubt: 0 });
  });

  it.each([
    ['on one instance', { instances: 1 }, { roundTripsPerTransaction: 9, syncsPerTransaction: 2 }],
    [
      'on the home instance of tightly coupled branches',
      { instances: 2, coupling: 'tight' },
      { roundTripsPerTransaction: 9, readOnlyPerTransaction: 1, syncsPerTransaction: 2 },
    ],
    [
      'in two files, where each instance has tables',
      { instances: 2 },
      { roundTripsPerTransaction: 10, readOnlyPerTransaction: 0, syncsPerTransaction: 4 },
    ],
  ])('inserts a row and enqueues a message in each branch: rows %s', async (_, params, figuresExpected) => {
    const { figures, integrity, sequence } = await runTrial('xa-remote', {
      ...twoBranches,
      ...params,
      work: 'insert',
    });
    expect(integrity).toEqual(whole); // and each message has its row, or the trial fails
    expect(figures).toMatchObject({ ...figuresExpected, inDoubt: 0 });
    expect(sequence!.slice(1).map(({ calls }) => calls[1]!.name)).toEqual([
      'insert, enqueue',
      'insert, enqueue',
    ]);
  });

  it('inserts rows in local transactions on two instances, each with tables', async () => {
    const { figures, integrity } = await runTrial('xa-embedded', {
      transaction: 'local',
      sessions: 2,
      instances: 2,
      work: 'insert',
    });
    expect(integrity).toEqual(whole);
    expect(figures).toMatchObject({ callsPerTransaction: 2, syncsPerTransaction: 1 });
  });

  it('marks what it emulates, and prepares in the other session', async () => {
    const { figures, integrity, provenance, waits } = await runTrial('xa-embedded', {
      ...twoBranches,
      instances: 2,
      preparedBy: 'other',
      roundTripMs: 2,
      syncMs: 5,
    });
    expect(integrity).toEqual(whole);
    expect(provenance).toBe('emulated');
    expect(figures.callsPerTransaction).toBe(10);
    const emulated = (name: string) => waits.find(({ event }) => event === name)?.emulated;
    expect([emulated('client round trip'), emulated('log file sync')]).toEqual([true, true]);
  });

  it.each([
    ['local', 2],
    ['one-branch', 4],
  ] as const)('makes %s transactions with %i calls', async (transaction, calls) => {
    const { figures, integrity } = await runTrial('xa-embedded', { transaction, instances: 1, sessions: 1 });
    expect(integrity).toEqual(whole);
    expect(figures).toMatchObject({ callsPerTransaction: calls, syncsPerTransaction: 1 });
  });

  it('refuses an odd number of sessions for two branches', () => {
    const parsed = scenarioOf('xa-embedded', { ...twoBranches, sessions: 3, instances: 1 });
    expect(parsed).toMatchObject({ ok: false, faults: [{ path: '/sweep/sessions' }] });
  });
});

it('scattered syncs have the mean that was asked for, and the longest is 3.7 times that', () => {
  const times = syncTimesOf({ syncMs: 21.6, syncTimes: 'scattered' });
  const mean = times.reduce((sum, ms) => sum + ms, 0) / times.length;
  expect(mean).toBeCloseTo(21.6);
  expect(Math.max(...times) / mean).toBeCloseTo(3.75, 1);
  expect(syncTimesOf({ syncMs: 21.6, syncTimes: 'equal' })).toEqual([21.6]);
});
