/** Small complete runs of topics, backlogs and the other axes. They check shape and integrity, never speed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Run, Run as RunSchema, type Scenario } from '@shardlab/contract';
import { startRun } from '@shardlab/lab';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queuePointOf } from '../src/programs/queue/points/queue-point.ts';
import { measuredOnceMs, smallScenario } from './support.ts';

const isRun = new Ajv({ allErrors: true, strict: false }).compile(RunSchema);
const clean = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };
const phases = { warmupMs: 50, measureMs: measuredOnceMs, drainMs: 20_000 };

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

async function runOf(changes: Partial<Scenario>): Promise<Run> {
  const run = await startRun({
    scenario: smallScenario({ claims: [], phases, ...changes }),
    scale: 'full',
    dataDir,
  });
  expect(run.error).toBeNull();
  expect(isRun(run), JSON.stringify(isRun.errors)).toBe(true);
  return run;
}

test('each subscriber of a topic gets each message once, sharded, stored once, or as a queue for each of them', async () => {
  const run = await runOf({
    program: 'topic',
    parameters: { shardsPerInstance: 2, subscribers: 3, backlogMax: 200 },
    systems: ['sharded', 'unsharded', 'unsharded-grouped', 'unsharded-once', 'unsharded-grouped-once'],
    sweep: { instances: [2], threads: [3] },
  });
  expect(run.points).toHaveLength(5);
  for (const point of run.points.map(queuePointOf)) {
    expect(point.params).toMatchObject({ subscribers: 3 });
    expect(point.integrity).toMatchObject(clean);
    expect(point.enqueuePerSec).toBeGreaterThan(0);
    expect(point.dequeuePerSec).toBeGreaterThan(point.enqueuePerSec);
    expect(point.repeats[0]!.dequeueCallMeanMs).toBeGreaterThan(0);
  }
}, 120_000);

test('a topic whose drain is too short counts the rest as left for each subscriber, and loses nothing', async () => {
  const run = await runOf({
    program: 'topic',
    parameters: { payloadBytes: 64, operationsPerTransaction: 1, backlogMax: 1_000 },
    systems: ['sharded'],
    sweep: {
      instances: [1],
      threads: [1],
      roundTripMs: [1],
      subscribers: [2],
      backlog: [1_000],
    },
    phases: { warmupMs: 0, measureMs: 200, drainMs: 0 },
  });
  const { left, durability: _evidence, ...faults } = run.points[0]!.integrity;
  expect(faults).toEqual({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 });
  expect(left).toBeGreaterThan(1_000);
}, 120_000);

test('every other axis of a sweep has points of its own', async () => {
  const run = await runOf({
    systems: ['sharded'],
    sweep: {
      instances: [1],
      threads: [2],
      operationsPerTransaction: [1, 20],
      payloadBytes: [4_000],
      backlog: [301],
      durability: ['relaxed', 'memory'],
      cacheMiB: [8], // large enough for the whole backlog of the nonpersistent queue
    },
    phases: { ...phases, measureMs: 150 },
  });
  expect(run.points).toHaveLength(4);
  for (const point of run.points) expect(point.integrity, JSON.stringify(point.params)).toMatchObject(clean);
}, 120_000);
