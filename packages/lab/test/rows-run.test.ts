/** Rows that an application inserts for consumed messages, in the transaction that consumes or in a separate one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planRun } from '@shardlab/lab';
import { expect, onTestFinished, test } from 'vitest';
import { assertRows } from '../src/programs/queue/trial/application-rows.ts';
import type { Host } from '../src/programs/queue/trial/host.ts';
import { runTrial } from '../src/programs/queue/trial/run-trial.ts';
import { smallScenario } from './support.ts';

test.each(['together', 'separate'] as const)(
  'a trial with rows %s has as many of them as messages',
  async (rows) => {
    const scenario = smallScenario({
      systems: ['sharded'],
      sweep: { instances: [1], threads: [2], rows: [rows] },
      phases: { warmupMs: 0, measureMs: 400, drainMs: 5_000 },
    });
    const { trials, phases } = planRun(scenario, 'full');
    const dir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const { integrity, figures } = await runTrial({
      trial: trials[0]!,
      scenario,
      phases,
      dir: join(dir, 'trial'),
    });
    expect(integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 });
    expect(figures.dequeuePerSec).toBeGreaterThan(0);
    expect(Math.abs(figures.timeAccounted! - 1)).toBeLessThan(0.05);
  },
);

test('a missing or an extra row fails the trial', async () => {
  const host = {
    openSession: () => ({
      execute: () => undefined,
      commit: async () => ({ results: [{ rows: [{ count: 3 }] }] }),
      close: async () => undefined,
    }),
  } as unknown as Host;
  await assertRows(host, { consumed: new Map([[1, Uint32Array.of(0b111)]]) });
  await expect(assertRows(host, { consumed: new Map([[1, Uint32Array.of(0b11)]]) })).rejects.toThrow(
    '2 messages were consumed, but there are 3 rows',
  );
});
