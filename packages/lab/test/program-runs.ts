/** What small real trials of the lab's programs share: a scenario, its run, and the integrity of one without faults. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Point, Scenario } from '@shardlab/contract';
import { bundledStudies, parseScenario, planRun, startRun } from '@shardlab/lab';
import { expect, onTestFinished } from 'vitest';
import type { TrialOutcome } from '../src/trial/trial.ts';

/** Integrity of a trial without faults; `left` is not checked, since messages may be in the queue at its end. */
export const whole = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 };
export const wholeAndDrained = { ...whole, left: 0 };

/** Expects that the parts of the sessions' time, each measured on its own, add up to the elapsed time within 5 %. */
export function expectTimeExplained({ system, figures, waits }: Point): void {
  const [cpu, waiting, idle, runnable] = ['timeOnCpu', 'timeWaiting', 'timeIdle', 'timeRunnable'].map(
    (name) => figures[name]!.value,
  ) as [number, number, number, number];
  expect(Math.abs(cpu + waiting + idle + runnable - 1), system).toBeLessThan(0.05);
  expect(Math.abs(figures.timeAccounted!.value - 1), system).toBeLessThan(0.05);
  expect(figures.sessionCpuOfThread!.value, system).toBeGreaterThan(0);
  expect(waits.length, system).toBeGreaterThan(0);
}

type Varying = 'study' | 'program' | 'systems' | 'parameters' | 'phases';

/** A scenario of one repeat, without claims, and with a sweep only if one is given. */
export function programScenario(given: Pick<Scenario, Varying> & Partial<Scenario>): Scenario {
  return {
    version: 2,
    id: 'small',
    title: 'A small scenario',
    question: 'Does it run?',
    claims: [],
    seed: 7,
    sweep: {},
    repeats: 1,
    ...given,
  };
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs all points of a scenario; fails if the run does. */
export async function runPoints(scenario: Scenario): Promise<Point[]> {
  expect(parseScenario(scenario)).toMatchObject({ ok: true });
  const run = await startRun({ scenario, scale: 'full', dataDir: await makeFolder() });
  expect(run.error).toBeNull();
  return run.points;
}

/** Runs the first trial of a scenario only, for tests of outcomes that a point does not contain. */
export async function runFirstTrial(given: Scenario): Promise<TrialOutcome> {
  const parsed = parseScenario(given);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  const { scenario } = parsed;
  const { program, trials } = planRun(scenario, 'full', bundledStudies);
  const dir = join(await makeFolder(), 'trial');
  return await program.run({ trial: trials[0]!, scenario, phases: scenario.phases, dir });
}
