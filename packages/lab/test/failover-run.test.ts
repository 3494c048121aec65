/** Remote sessions on instances in processes of their own, one of them killed in mid-run, or with its dequeuers elsewhere: real, small runs. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { figureOf, type RunEvent, type Scenario } from '@shardlab/contract';
import { startRun } from '@shardlab/lab';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { smallScenario } from './support.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

/** Temporary folders of tests may be in memory (`scripts/test-folder.ts`), where claims about durable messages are not judged. */
const folderOnDisk = fileURLToPath(new URL('../../../node_modules/.shardlab/', import.meta.url));

const remote = (changes: Partial<Scenario>): Scenario =>
  smallScenario({ ...changes, parameters: { sessions: 'remote' } });

test('a killed instance is served again, returns to its process, and every message arrives once and in order', async () => {
  const onDisk = await mkdtemp(join(folderOnDisk, 'test-'));
  onTestFinished(() => rm(onDisk, { recursive: true, force: true }));
  const scenario = remote({
    claims: ['W7'],
    systems: ['sharded'],
    sweep: { instances: [2], threads: [4], roundTripMs: [5] },
    phases: { warmupMs: 100, measureMs: 4_500, drainMs: 20_000 },
    faults: [
      { kind: 'kill', instance: 2, atMs: 500 },
      { kind: 'start', instance: 2, atMs: 2_500 },
    ],
  });
  const eventTypes: string[] = [];
  const onEvent = (event: RunEvent) => {
    if (event.type === 'tick') for (const { type } of event.tick.events ?? []) eventTypes.push(type);
  };
  const run = await startRun({ scenario, scale: 'full', dataDir: onDisk, onEvent });
  expect(run.error).toBeNull();
  expect(run.status).toBe('done');
  const [point] = run.points;
  expect(point!.integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 });
  expect(figureOf(point!, 'enqueuePerSec')).toBeGreaterThan(0);
  expect(point!.byInstance.cpuShare!.every((share) => share > 0)).toBe(true);
  const [repeat] = point!.repeats;
  expect(repeat!.faults).toMatchObject([
    { kind: 'kill', instance: 2, outageMs: expect.any(Number) },
    { kind: 'start', instance: 2 },
  ]);
  expect(new Set(repeat!.timeline!.map(({ instance }) => instance))).toEqual(new Set([1, 2]));
  expect(eventTypes.filter((type) => type === 'kill' || type === 'start')).toEqual(['kill', 'start']);
  expect(run.claims[0]!.value).toBe(Math.round(repeat!.faults![0]!.outageMs!));
  expect(await readdir(onDisk)).toEqual([]);
}, 90_000);

test('remote sessions without a fault do the same work, on a topic and on unsharded queues too', async () => {
  const scenario = remote({
    claims: [],
    program: 'topic',
    systems: ['sharded', 'unsharded'],
    sweep: {
      instances: [2],
      threads: [2],
      subscribers: [2],
    },
    phases: { warmupMs: 50, measureMs: 400, drainMs: 20_000 },
  });
  const run = await startRun({ scenario, scale: 'full', dataDir });
  expect(run.error).toBeNull();
  for (const point of run.points) {
    expect(point.integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 });
    expect(figureOf(point, 'dequeuePerSec')).toBeGreaterThan(0);
    expect(point.repeats[0]!.faults).toBeUndefined();
  }
}, 90_000);

test('messages are dequeued on another instance than the one that they were enqueued on, once and in order', async () => {
  const scenario = remote({
    claims: ['W9'],
    systems: ['sharded'],
    sweep: {
      instances: [2],
      threads: [1],
      dequeuers: ['same-instance', 'other-instance'],
    },
    phases: { warmupMs: 500, measureMs: 2_000, drainMs: 20_000 },
  });
  const run = await startRun({ scenario, scale: 'full', dataDir });
  expect(run.error).toBeNull();
  const where = (place: string) => run.points.find(({ params }) => params.dequeuers === place)!;
  for (const place of ['same-instance', 'other-instance']) {
    expect(where(place).integrity).toMatchObject({
      lost: 0,
      duplicated: 0,
      damaged: 0,
      outOfOrder: 0,
      left: 0,
    });
  }
  expect(where('same-instance').byInstance.dequeuePerSec![1]).toBe(0);
  expect(where('other-instance').byInstance.dequeuePerSec![0]).toBe(0);
  expect(where('other-instance').byInstance.dequeuePerSec![1]).toBeGreaterThan(0);
  expect(where('other-instance').waits.some(({ event }) => event === 'forwarding')).toBe(true);
}, 120_000);
