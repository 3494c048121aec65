/** Trials of document B whose processes are killed under load: what new processes find on the same files. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KilledTrial, Params } from '@shardlab/contract';
import { planRun } from '@shardlab/lab';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runToCompletion } from '../src/programs/completion/completion-program.ts';
import { flowControl } from '../src/programs/completion/flow-control-program.ts';
import { missingOf } from '../src/systems/missing.ts';
import { systemOf } from '../src/systems/systems.ts';
import type { KilledTrialOptions } from '../src/trial/trial.ts';
import { programScenario, whole } from './program-runs.ts';

const lacksRedis = missingOf([systemOf('redis-snapshot')])[0] ?? null;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const scenario = (system: string, parameters: Params = {}) =>
  programScenario({
    study: 'redis-benchmark',
    program: 'run-to-completion',
    systems: [system],
    parameters: { payloadBytes: 64, messages: 5_000, ...parameters },
    phases: { warmupMs: 200, measureMs: 600, drainMs: 1_000 },
  });

async function killed(
  system: string,
  { parameters, ...changes }: { parameters?: Params } & Pick<KilledTrialOptions, 'onKilled'> = {},
) {
  const { trials, phases } = planRun(scenario(system, parameters), 'full');
  const dir = join(folder, 'trial');
  const options = { trial: trials[0]!, scenario: scenario(system, parameters), phases, dir, ...changes };
  const result = await runToCompletion.kill!.run(options);
  expect(result.enqueued).toBeGreaterThan(0);
  expect(existsSync(dir)).toBe(false);
  return result;
}

/** Where enqueues and dequeues are at once there may be nothing in the queue to recover. */
function expectWhole(
  found: KilledTrial,
  { durability, parameters }: { durability: string; parameters: Params },
) {
  expect(found).toMatchObject({ ...whole, durability });
  expect(found.enqueued).toBeLessThanOrEqual(found.consumed + found.recovered + found.inDoubt);
  if (parameters.schedule !== 'at-once') expect(found.recovered).toBeGreaterThan(0);
}

const several = { threads: 3, queues: 2, schedule: 'at-once' };

describe('a queue of ours', () => {
  test.each<[string, Params]>([
    ['sharded', several],
    ['sharded-remote', {}],
    ['unsharded', { threads: 3, schedule: 'at-once' }],
    ['unsharded-grouped', {}],
  ])('keeps what it acknowledged: %s with %o', async (system, parameters) => {
    expectWhole(await killed(system, { parameters }), { durability: 'durable', parameters });
  });

  test.each(['buffered', 'buffered-remote'])('in memory loses what was in it: %s', async (system) => {
    const found = await killed(system);
    expect(found.lost).toBeGreaterThan(0);
    expect(found).toMatchObject({ durability: 'memory', recovered: 0 });
  });
});

test('a queue with flow control is killed at the least threshold at which it can be, without being refused', async () => {
  const flow = {
    ...scenario('buffered'),
    program: 'flow-control',
    parameters: { payloadBytes: 64, messages: 20, messagesMax: 400 },
  };
  const { trials, phases, kills } = planRun(flow, 'full');
  expect([...kills]).toEqual(trials);
  const dir = join(folder, 'trial');
  const found = await flowControl.kill!.run({ trial: trials[0]!, scenario: flow, phases, dir });
  expect(found.lost).toBeGreaterThan(0);
});

describe.skipIf(lacksRedis !== null)(`Redis${lacksRedis === null ? '' : ` (${lacksRedis})`}`, () => {
  test.each<[string, Params]>([
    ['redis-log-always', {}],
    ['redis-log-always-reliable', several],
  ])('that syncs each write keeps what it acknowledged: %s with %o', async (system, parameters) => {
    expectWhole(await killed(system, { parameters }), { durability: 'always', parameters });
  });

  test('that had no time for a snapshot loses all that was in it', async () => {
    const found = await killed('redis-snapshot');
    expect(found).toMatchObject({ durability: 'snapshot', recovered: 0 });
    expect(found.lost).toBeGreaterThan(0);
  });

  test('whose log lacks its end is found out', async () => {
    const found = await killed('redis-log-always-reliable', {
      async onKilled(dir) {
        const log = readdirSync(join(dir, 'appendonlydir')).find((name) => name.endsWith('.incr.aof'))!;
        const path = join(dir, 'appendonlydir', log);
        const bytes = await readFile(path);
        await writeFile(path, bytes.subarray(0, bytes.length / 2));
      },
    });
    expect(found.lost + found.duplicated).toBeGreaterThan(0);
  });
});
