/** Trials whose processes are killed under load: what new processes find must be what was acknowledged. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Params } from '@shardlab/contract';
import { planRun } from '@shardlab/lab';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runKilledTrial } from '../src/programs/queue/trial/run-killed-trial.ts';
import type { KilledTrialOptions } from '../src/trial/trial.ts';
import { smallScenario } from './support.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function options(system: string, changes: Params = {}): KilledTrialOptions {
  const scenario = smallScenario({
    systems: [system],
    sweep: { instances: [2], threads: [4] },
    phases: { warmupMs: 100, measureMs: 400, drainMs: 1_000 },
  });
  const { trials, phases } = planRun(scenario, 'full');
  const trial = { ...trials[0]!, params: { ...trials[0]!.params, ...changes } };
  return { trial, scenario, phases, dir: join(folder, 'trial') };
}

const faultless = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };

test.each<[string, Params]>([
  ['sharded', {}],
  ['sharded', { durability: 'relaxed', rows: 'together', instances: 1 }],
  ['sharded', { sessions: 'remote' }],
  ['unsharded', {}],
  ['unsharded-grouped', {}],
])('a %s queue with %o keeps what it acknowledged', async (system, changes) => {
  const given = options(system, changes);
  const killed = await runKilledTrial(given);
  expect(killed).toMatchObject(faultless);
  expect(killed.enqueued).toBeGreaterThan(0);
  expect(killed.enqueued).toBeLessThanOrEqual(killed.consumed + killed.recovered + killed.inDoubt);
  expect(existsSync(given.dir)).toBe(false);
});

test('a queue that keeps its messages in memory only loses messages in a kill', async () => {
  // The queue has a backlog, so that it contains messages when it is killed.
  const killed = await runKilledTrial(options('sharded', { durability: 'memory', backlog: 1_000 }));
  expect(killed.lost).toBeGreaterThan(0);
  expect(killed.recovered).toBe(0);
});
