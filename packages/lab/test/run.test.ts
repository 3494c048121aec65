/** Complete runs on the real engine. They check shape and integrity, never speed. */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provenanceOf, Run, RunEvent } from '@shardlab/contract';
import { startRun } from '@shardlab/lab';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queuePointOf } from '../src/programs/queue/points/queue-point.ts';
import { measuredOnceMs, smallScenario } from './support.ts';

const ajv = new Ajv({ allErrors: true, strict: false });
const isRun = ajv.compile(Run);
const isEvent = ajv.compile(RunEvent);

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

describe('a small run of both queues on two instances, with and without a round trip', () => {
  const events: RunEvent[] = [];
  let run: Run;
  beforeAll(async () => {
    const scenario = smallScenario({
      claims: ['A1', 'A2', 'A3', 'A4', 'A5', 'A6'],
      systems: ['sharded', 'unsharded'],
      sweep: {
        instances: [2],
        threads: [3],
        roundTripMs: [0, 1],
      },
      phases: { warmupMs: 100, measureMs: measuredOnceMs, drainMs: 20_000 },
    });
    run = await startRun({
      scenario,
      scale: 'full',
      dataDir,
      id: 'run-1',
      onEvent: (event) => events.push(event),
    });
  }, 120_000);

  test('is done, with a point for each combination and a verdict for each claim', () => {
    expect(run.error).toBeNull();
    expect(run).toMatchObject({ id: 'run-1', status: 'done', progress: { done: 4, total: 4, etaMs: 0 } });
    expect(run.points).toHaveLength(4);
    expect(run.claims.map((claim) => claim.id)).toEqual(['A1', 'A2', 'A3', 'A4', 'A5', 'A6']);
  });

  test('loses, doubles, damages or reorders no message, and is drained', () => {
    for (const point of run.points) {
      expect(point.integrity, JSON.stringify(point.params)).toMatchObject({
        lost: 0,
        duplicated: 0,
        damaged: 0,
        outOfOrder: 0,
        left: 0,
      });
    }
  });

  test('measures every part of a point', () => {
    for (const measured of run.points) {
      const point = queuePointOf(measured);
      const { instances, roundTripMs } = point.params;
      expect(point.enqueuePerSec).toBeGreaterThan(0);
      expect(point.dequeuePerSec).toBeGreaterThan(0);
      expect(point.cpuUsPerMessage).toBeGreaterThan(0);
      // Only steady repeats have a latency, and on a busy machine this one may not be steady.
      const [repeat] = measured.repeats;
      expect(point.latencyMs.count > 0).toBe(repeat!.steady!.isSteady);
      expect('latencyP50Ms' in measured.figures).toBe(repeat!.steady!.isSteady);
      expect(point.latencyMs.max).toBeGreaterThanOrEqual(point.latencyMs.p50);
      expect(measured.figures.syncsPerSec!.value).toBeGreaterThan(0);
      expect(repeat!.disturbance!.syncRatio).toBeGreaterThan(0);
      expect(measured.conditions!.measuredAgain).toBe(repeat!.attempts! - 1);
      expect(measured.integrity.durability).toBe('not sampled');
      expect(point.dequeueCallMs.count).toBeGreaterThan(0);
      expect(measured.latencies.commit!.count).toBeGreaterThan(0);
      expect(point.cpuShareByInstance).toHaveLength(instances);
      expect(point.dequeuePerSecByInstance).toHaveLength(instances);
      expect(point.repeats).toHaveLength(1);
      expect(provenanceOf(measured)).toBe(roundTripMs > 0 ? 'emulated' : 'measured');
      expect(measured.byInstance.timeAccounted).toHaveLength(instances);
      // This finds calls that wait without naming a wait event; it does not depend on speed.
      for (const share of measured.byInstance.timeAccounted!) expect(share).toBeGreaterThan(0.95);
      const figure = (name: string) => measured.figures[name]!.value;
      expect(figure('cpuUsPerMessageWithoutGenerator')).toBeLessThanOrEqual(point.cpuUsPerMessage);
      expect(figure('generatorCpuUsPerMessage')).toBeGreaterThan(0);
      expect(figure('sessionCpuUsPerMessage')).toBeGreaterThan(0);
      const events = point.waits.map((wait) => wait.event);
      expect(events).toContain('log file sync');
      expect(events.includes('client round trip')).toBe(roundTripMs > 0);
    }
  });

  test('has events and a result that match the schemas of the contract', () => {
    for (const event of events) expect(isEvent(event), ajv.errorsText(isEvent.errors)).toBe(true);
    expect(isRun(run), ajv.errorsText(isRun.errors)).toBe(true);
    const types = events.map((event) => event.type);
    expect(types[0]).toBe('status');
    expect(types.slice(-2)).toEqual(['status', 'end']);
    expect(types.filter((type) => type === 'point')).toHaveLength(4);
  });

  test('streams ticks of every instance with its shards', () => {
    const ticks = events.flatMap((event) => (event.type === 'tick' ? [event.tick] : []));
    const byTrial = Map.groupBy(ticks, (tick) => tick.trial);
    expect(byTrial.size).toBe(4);
    for (const ofTrial of byTrial.values()) {
      // A tick does not wait for an instance that reports too late on a busy machine, so only all ticks together have both.
      const samples = ofTrial.flatMap((tick) => tick.instances);
      expect(new Set(samples.map(({ instance }) => instance))).toEqual(new Set([1, 2]));
      for (const { shards } of samples) expect(shards.length).toBeGreaterThan(0);
    }
    expect(ticks.map((tick) => tick.atMs)).toEqual(ticks.map((tick) => tick.atMs).sort((a, b) => a - b));
  });

  test('leaves nothing behind', async () => {
    expect(await readdir(dataDir)).toEqual([]);
  });
});

test('a run has evidence of durability from a kill, and rates relative to the raw limit and to the bounds, if its scenario asks for them', async () => {
  const scenario = smallScenario({
    kills: true,
    probes: true,
    systems: ['sharded'],
    sweep: { instances: [1], threads: [1], durability: ['durable', 'memory'] },
  });
  const said: string[] = [];
  const run = await startRun({
    scenario,
    scale: 'quick',
    dataDir,
    onEvent: (event) => event.type === 'progress' && said.push(event.progress.current ?? ''),
  });
  expect(run.error).toBeNull();
  expect(said).toContain('Sharded queue, durable, killed to show its durability');
  const [durable, memory] = run.points;
  expect(durable!.killed).toMatchObject({ durability: 'durable', lost: 0, duplicated: 0, damaged: 0 });
  expect(durable!.killed!.enqueued).toBeGreaterThan(0);
  expect([durable, memory].map((each) => each!.integrity.durability)).toEqual(['shown', 'not promised']);
  for (const { figures } of run.points) {
    const rate = figures.dequeuePerSec!.value;
    for (const probe of ['raw', 'logLoop', 'groupLoop'])
      expect(figures[`${probe}Ratio`]!.value).toBeCloseTo(rate / figures[`${probe}PerSec`]!.value, 3);
  }
  expect(isRun(run), ajv.errorsText(isRun.errors)).toBe(true);
  expect(await readdir(dataDir)).toEqual([]);
});

test('repeats are summarised in one point', async () => {
  const scenario = smallScenario({
    repeats: 2,
    systems: ['sharded'],
    sweep: { instances: [1], threads: [1] },
  });
  const counts: number[] = [];
  const run = await startRun({
    scenario,
    scale: 'full',
    dataDir,
    onEvent: (event) => event.type === 'point' && counts.push(event.point.repeats.length),
  });
  expect(counts).toEqual([1, 2]);
  expect(run.points.map((point) => point.repeats.length)).toEqual([2]);
  expect(run.points[0]!.conditions!.measuredAgain, 'of windows of a tenth of a second').toBe(0);
});

test('what a bounded drain leaves is browsed and counted as left, not lost', async () => {
  // There is no time to drain, and dequeuers fall behind, since they take the write lock twice as often as enqueuers.
  const scenario = smallScenario({
    parameters: { payloadBytes: 64, operationsPerTransaction: 10, backlogMax: 1_000_000 },
    systems: ['unsharded'],
    sweep: { instances: [2], threads: [4] },
    phases: { warmupMs: 0, measureMs: 400, drainMs: 0 },
  });
  const { points } = await startRun({ scenario, scale: 'full', dataDir });
  expect(points[0]!.integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 });
  expect(points[0]!.integrity.left).toBeGreaterThan(0);
});

test('enqueuers pause at the bound of the backlog, and their pauses are counted as waits', async () => {
  const scenario = smallScenario({
    parameters: { payloadBytes: 64, operationsPerTransaction: 100, backlogMax: 100 },
    systems: ['sharded', 'unsharded'],
    sweep: { instances: [2], threads: [4] },
    phases: { warmupMs: 0, measureMs: 400, drainMs: 10_000 },
  });
  const { points } = await startRun({ scenario, scale: 'full', dataDir });
  for (const point of points) {
    expect(point.integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 });
    expect(point.waits.map((wait) => wait.event)).toContain('flow control');
  }
});

test('a run cancelled in its second trial keeps the first point', async () => {
  const cancel = new AbortController();
  const scenario = smallScenario({
    systems: ['sharded', 'unsharded'],
    sweep: { instances: [2], threads: [2] },
    phases: { warmupMs: 20, measureMs: 600, drainMs: 1_000 },
  });
  const run = await startRun({
    scenario,
    scale: 'full',
    dataDir,
    signal: cancel.signal,
    onEvent: (event) => {
      if (event.type === 'tick' && event.tick.trial === 1) cancel.abort();
    },
  });
  expect(run).toMatchObject({
    status: 'cancelled',
    error: null,
    progress: { done: 1, total: 2, etaMs: null },
  });
  expect(run.points).toHaveLength(1);
  expect(await readdir(dataDir)).toEqual([]);
});

test('a run with a signal that is already aborted starts nothing', async () => {
  const run = await startRun({
    scenario: smallScenario(),
    scale: 'full',
    dataDir,
    signal: AbortSignal.abort(),
  });
  expect(run).toMatchObject({ status: 'cancelled', points: [] });
});

test('a disk without room fails the run before its first trial', async () => {
  const run = await startRun({
    scenario: smallScenario(),
    scale: 'full',
    dataDir,
    freeBytes: async () => 1000,
  });
  expect(run).toMatchObject({
    status: 'failed',
    error: { code: 'DISK_SPACE_LOW', retryable: true },
    points: [],
  });
});

test('a data folder that is a file fails the run with a sentence', async () => {
  const file = join(dataDir, 'file');
  await writeFile(file, '');
  const run = await startRun({ scenario: smallScenario(), scale: 'full', dataDir: file });
  expect(run).toMatchObject({ status: 'failed', error: { code: 'DATA_FOLDER_UNUSABLE' } });
  await rm(file);
});

test('files that a killed run left are removed by the next run, but no other folders', async () => {
  const gone = spawnSync(process.execPath, ['--version']).pid;
  const mine = `shardlab-run-${process.pid}-def`;
  // The last is of a process whose id is this one's now: it began at another time.
  const left = ['data', mine, `shardlab-run-${gone}-abc`, `shardlab-trial-${process.pid}.1-abc`];
  for (const name of left) await mkdir(join(dataDir, name, 'trial-0'), { recursive: true });
  await startRun({ scenario: smallScenario(), scale: 'full', dataDir, freeBytes: async () => 0 });
  expect(await readdir(dataDir)).toEqual(['data', mine]);
  for (const name of left) await rm(join(dataDir, name), { recursive: true, force: true });
});
