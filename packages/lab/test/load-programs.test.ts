/** Small real trials of the programs that load a system for a time: shape and integrity, never speed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Params, Scenario } from '@shardlab/contract';
import { parseScenario, startRun } from '@shardlab/lab';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closedLoop } from '../src/programs/load/closed-loop-program.ts';
import { openLoop } from '../src/programs/load/open-loop-program.ts';
import { standingBacklog } from '../src/programs/load/standing-backlog-program.ts';

const scenario = (changes: Partial<Scenario> & { parameters: Params }): Scenario => ({
  version: 2,
  id: 'small',
  title: 'A small scenario',
  question: 'Does it run?',
  study: 'peers',
  claims: [],
  seed: 7,
  program: 'closed-loop',
  systems: ['sharded'],
  sweep: {},
  phases: { warmupMs: 50, measureMs: 300, drainMs: 5_000 },
  repeats: 1,
  ...changes,
  parameters: { payloadBytes: 64, operationsPerTransaction: 10, ...changes.parameters },
});

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const run = async (measured: Scenario) => {
  expect(parseScenario(measured)).toMatchObject({ ok: true });
  const ended = await startRun({ scenario: measured, scale: 'full', dataDir });
  expect(ended.error).toBeNull();
  return ended.points;
};
const whole = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 };
/** Figures that a busy machine may keep from being measured: of a steady repeat, or of messages in the window. */
const needsMessages = ['latencyP50Ms', 'latencyP99Ms', 'cpuUsPerMessage'];

describe('a closed loop', () => {
  it('measures each kind of system, embedded in one process and in two, and behind a socket', async () => {
    const systems = ['null', 'sharded', 'sharded-2', 'sharded-remote-2', 'unsharded', 'plainjob'];
    const points = await run(scenario({ systems, parameters: { enqueuers: 3, dequeuers: 2 } }));
    expect(points.map(({ system }) => system)).toEqual(systems);
    const expected = ['enqueuePerSec', 'dequeuePerSec', 'eventLoopDelayP99Ms', 'residentMiB'];
    for (const { system, figures, integrity } of points) {
      expect(integrity, system).toMatchObject(whole);
      expect(Object.keys(figures), system).toEqual(expect.arrayContaining(expected));
    }
  }, 120_000);

  it('enqueues first, and another process dequeues what is there', async () => {
    const [point] = await run(
      scenario({
        parameters: { schedule: 'enqueue-then-dequeue', enqueuers: 1, dequeuers: 1 },
        probes: true,
      }),
    );
    expect(point!.integrity).toMatchObject(whole);
    // Where a busy machine delivered nothing in the window, no message has a cost.
    const others = closedLoop.figures.map(({ name }) => name).filter((name) => name !== 'cpuUsPerMessage');
    expect(Object.keys(point!.figures)).toEqual(expect.arrayContaining(others));
    // The rate of enqueues, and not that of dequeues, which other transactions limit.
    const { enqueuePerSec, rawPerSec, rawRatio } = point!.figures;
    expect(rawRatio!.value).toBeCloseTo(enqueuePerSec!.value / rawPerSec!.value, 3);
  }, 60_000);
});

describe('an open loop', () => {
  it('sends at the rate that it is given', async () => {
    const points = await run(
      scenario({
        program: 'open-loop',
        systems: ['sharded', 'sharded-remote'],
        parameters: { operationsPerTransaction: 1, messagesPerSec: 200, enqueuers: 4, dequeuers: 2 },
      }),
    );
    for (const { system, figures, integrity } of points) {
      expect(integrity, system).toMatchObject(whole);
      expect(figures.offeredPerSec!.value).toBe(200);
      const others = openLoop.figures.map(({ name }) => name).filter((name) => !needsMessages.includes(name));
      expect(Object.keys(figures), system).toEqual(expect.arrayContaining(others));
    }
  }, 60_000);

  it('at a share of the maximum rate measures that first; emulated syncs do not count in it', async () => {
    const [point] = await run(
      scenario({
        program: 'open-loop',
        parameters: { shareOfMaximum: 0.1, emulatedSyncMs: 20, enqueuers: 8, dequeuers: 8 },
      }),
    );
    expect(point!.integrity).toMatchObject(whole);
    expect(point!.figures.dequeuePerSec).toMatchObject({ provenance: 'emulated' });
    expect(point!.figures.offeredPerSec!.value).toBeGreaterThan(0);
  }, 60_000);

  it('needs one rate, and emulates the syncs of our embedded queues only', () => {
    const open = (parameters: Params, systems = ['sharded']) =>
      parseScenario(scenario({ program: 'open-loop', systems, parameters }));
    expect(open({})).toMatchObject({ faults: [{ path: '/parameters/messagesPerSec' }] });
    expect(open({ messagesPerSec: 5, shareOfMaximum: 0.5 })).toMatchObject({
      faults: [{ message: expect.stringContaining('either') }],
    });
    expect(open({ messagesPerSec: 5, emulatedSyncMs: 1 }, ['sharded', 'plainjob'])).toMatchObject({
      faults: [{ path: '/parameters/emulatedSyncMs', message: 'The syncs of plainjob cannot be emulated' }],
    });
  });
});

describe('a standing backlog', () => {
  it('is there after its process was killed, and stays while others come and go', async () => {
    const [point] = await run(
      scenario({ program: 'standing-backlog', parameters: { backlog: 3_000, enqueuers: 2, dequeuers: 2 } }),
    );
    expect(point!.integrity).toMatchObject(whole);
    expect(point!.integrity.left).toBeGreaterThanOrEqual(2_000);
    const others = standingBacklog.figures
      .map(({ name }) => name)
      .filter((name) => name !== 'cpuUsPerMessage');
    expect(Object.keys(point!.figures)).toEqual(expect.arrayContaining(others));
  }, 60_000);
});

describe('the raw limit', () => {
  it('is measured without any queue', async () => {
    const [point] = await run({
      ...scenario({ program: 'raw-limit', systems: ['sqlite'], parameters: {} }),
      parameters: { payloadBytes: 64, operationsPerTransaction: 10, cycle: 'insert' },
    });
    expect(Object.keys(point!.figures)).toEqual(['rowsPerSec', 'cpuUsPerRow']);
  }, 30_000);
});
