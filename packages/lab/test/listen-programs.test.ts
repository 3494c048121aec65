/** Small real trials of the programs about listening: what they count, and that every message arrives. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, it, onTestFinished } from 'vitest';
import { planRun } from '../src/run/plan-run.ts';
import { parseScenario } from '../src/scenario/parse-scenario.ts';
import type { TrialOutcome } from '../src/trial/trial.ts';

const whole = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };

/** Runs the only trial of a scenario with these parameters. */
async function runTrial(programId: string, params: Record<string, string | number>): Promise<TrialOutcome> {
  const [[name, value], ...rest] = Object.entries(params) as [
    [string, string | number],
    ...[string, string | number][],
  ];
  const parsed = parseScenario(
    JSON.stringify({
      $schema: './scenario.schema.json',
      version: 2,
      id: 'small',
      title: 'Small',
      question: 'Does it run?',
      study: 'listen',
      claims: [],
      seed: 7,
      program: programId,
      systems: ['shared-topic'],
      parameters: Object.fromEntries(rest),
      sweep: { [name]: [value] },
      phases: { warmupMs: 50, measureMs: 400, drainMs: 20_000 },
      repeats: 1,
    }),
  );
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  const { program, trials } = planRun(parsed.scenario, 'full', bundledStudies);
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-listen-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const { scenario } = parsed;
  return await program.run({ trial: trials[0]!, scenario, phases: scenario.phases, dir: join(dir, 'trial') });
}

describe('the program listen', () => {
  it('counts gets and wake-ups of pairs that listen, and delivers each message once', async () => {
    const { figures, histograms, integrity, stated } = await runTrial('listen', {
      pairs: 3,
      method: 'listen',
      subscribers: 3,
      durability: 'memory',
      payloadBytes: 500,
      enqueuePauseMs: 1,
      copies: 2,
    });
    expect(integrity).toEqual(whole);
    expect(stated).toBe('memory');
    for (const guard of ['mutex', 'latch']) {
      const of = (name: string) => figures[`${guard}${name}`]!;
      const histogram = histograms![`${guard}GetNs`]!.reduce((sum, count) => sum + count, 0);
      // At each edge of the window a get of each dequeuer may be under way.
      expect(
        Math.abs(of('Misses') - of('SpinGets') - of('Sleeps') + of('RecurrentSleeps')),
      ).toBeLessThanOrEqual(6);
      expect(Math.abs(histogram - of('Gets'))).toBeLessThanOrEqual(6);
    }
    expect(figures.falseWakeUpsPerDequeue ?? 0).toBeLessThanOrEqual(figures.wakeUpsPerDequeue ?? 0);
  });

  it('takes no latch where dequeuers name their subscriber', async () => {
    const { figures, integrity } = await runTrial('listen', {
      pairs: 2,
      method: 'subscriber',
      subscribers: 2,
      durability: 'relaxed',
      enqueuePauseMs: 0,
    });
    expect(integrity).toEqual(whole);
    expect(figures).toMatchObject({ latchGets: 0, latchMisses: 0 });
    expect(figures.mutexGets).toBeGreaterThan(0);
  });
});

describe('the program listen-cases', () => {
  it.each([
    ['message-there', { locks: 2, pins: 3, latchGets: 3, mutexGets: 18 }],
    [
      'message-for-another',
      { wokenLatchGets: 7, wokenMutexGets: 24, latchGets: 15, mutexGets: 42, falseWakeUps: 1 },
    ],
    ['uncommitted-dequeue', { told: 1, dequeuedNothing: 1 }],
  ])('%s', async (name, expected) => {
    const { figures, integrity } = await runTrial('listen-cases', { case: name });
    expect(figures).toMatchObject(expected);
    expect(integrity).toEqual(whole);
  });
});
