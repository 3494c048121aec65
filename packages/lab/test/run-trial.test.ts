/** What happens to a trial whose processes are killed, hang or fail. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planRun } from '@shardlab/lab';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runTrial } from '../src/programs/queue/trial/run-trial.ts';
import { configFor } from '../src/programs/queue/trial/worker-config.ts';
import { smallScenario } from './support.ts';

const scenario = smallScenario({
  systems: ['sharded'],
  sweep: { instances: [2], threads: [2] },
  phases: { warmupMs: 0, measureMs: 600, drainMs: 400 },
});
const { trials, phases } = planRun(scenario, 'full');
const trial = trials[0]!;

let folder: string;
let dir: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
  dir = join(folder, 'trial');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a scenario can place most sessions on the first instance', () => {
  const skewed = smallScenario({
    systems: ['sharded'],
    sweep: { instances: [2], threads: [8], placement: ['even', 'skewed'] },
  });
  const sessionsOf = (instance: number) =>
    planRun(skewed, 'full').trials.map((each) => {
      const { enqueuers, dequeuers } = configFor(instance, { trial: each, scenario: skewed, phases, dir });
      return [enqueuers.length, dequeuers];
    });
  expect([sessionsOf(1), sessionsOf(2)]).toEqual([
    [
      [4, 4],
      [6, 6],
    ],
    [
      [4, 4],
      [2, 2],
    ],
  ]);
});

test('a killed process fails the trial with an error that names its instance, and the other processes are ended', async () => {
  let pids: number[] = [];
  const onOpen = (opened: number[]) => {
    pids = opened;
    process.kill(opened[1]!, 'SIGKILL');
  };
  await expect(runTrial({ trial, scenario, phases, dir, onOpen })).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: 'The process of instance 2 was killed by SIGKILL',
    details: { instance: 2 },
  });
  expect(pids).toHaveLength(2);
  expect(pids.filter(isAlive)).toEqual([]);
  expect(existsSync(dir)).toBe(false);
});

test('a process that hangs fails the trial at its limit and is killed', async () => {
  let pids: number[] = [];
  const onOpen = (opened: number[]) => {
    pids = opened;
    process.kill(opened[0]!, 'SIGSTOP');
  };
  await expect(runTrial({ trial, scenario, phases, dir, onOpen, graceMs: 2_000 })).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: 'The trial did not end within 3 s; its processes were killed',
  });
  expect(pids.filter(isAlive)).toEqual([]);
  expect(existsSync(dir)).toBe(false);
});

test('an error of the engine in a process fails the trial with the same code', async () => {
  const impossible = { ...trial, params: { ...trial.params, shardsPerInstance: 99 } };
  await expect(runTrial({ trial: impossible, scenario, phases, dir })).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    details: { instance: 1, cause: { code: 'QUEUE_SPEC_INVALID' } },
  });
});

test('an abort right after the start rejects with its reason and leaves no files', async () => {
  const cancel = new AbortController();
  const running = runTrial({ trial, scenario, phases, dir, signal: cancel.signal });
  cancel.abort(new Error('no more'));
  await expect(running).rejects.toThrow('no more');
  expect(existsSync(dir)).toBe(false);
});

test('dequeuers that get messages in the same turn of the event loop are checked in the order of their deliveries', async () => {
  const several = smallScenario({
    systems: ['sharded'],
    sweep: { instances: [1], threads: [4], backlog: [2_000] },
    phases: { warmupMs: 0, measureMs: 600, drainMs: 2_000 },
  });
  const plan = planRun(several, 'full');
  const { integrity } = await runTrial({
    trial: { ...plan.trials[0]!, params: { ...plan.trials[0]!.params, operationsPerTransaction: 10 } },
    scenario: several,
    phases: plan.phases,
    dir,
  });
  expect(integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 });
});
