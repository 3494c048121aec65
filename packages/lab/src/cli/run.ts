import { join } from 'node:path';
import type { Run, RunEvent, Scale, Scenario } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { isFaulty } from '../judging/judgement.ts';
import { appendVerdicts } from '../judging/verdict-history.ts';
import { assertSystemsAvailable, installMissing } from '../run/available-systems.ts';
import { planRun } from '../run/plan-run.ts';
import { startRun } from '../run/start-run.ts';
import type { TrialJournal } from '../run/trial-journal.ts';
import { bundledStudies } from '../studies/registry.ts';
import { estimateInWords } from './duration.ts';
import { dataFolder, writeJson } from './folders.ts';
import { loadOrExplain } from './load-scenario.ts';
import { ProgressLine } from './progress-line.ts';
import { reportInWords, summaryInWords } from './run-report.ts';

export interface RunFlags {
  quick: boolean;
  json?: string | undefined;
  require: string[];
  'data-dir'?: string | undefined;
}

/** Of what happens before a run, on standard error as its progress is. */
export const sayLine = (sentence: string): boolean => process.stderr.write(`${sentence}\n`);

/** `run <scenario>...`: runs scenarios in order; progress goes to standard error, results to standard output. */
export async function runScenariosCommand(targets: readonly string[], flags: RunFlags): Promise<number> {
  // All scenarios are validated first, so that a fault in the last one does not show up only after an hour.
  const scenarios: Scenario[] = [];
  for (const target of targets) {
    const scenario = await loadOrExplain(target);
    if (scenario === null) return exitCodes.usage;
    scenarios.push(scenario);
  }
  try {
    for (const scenario of scenarios) {
      await installMissing(scenario, scaleOf(flags), sayLine);
      assertSystemsAvailable(scenario, scaleOf(flags));
    }
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return exitCodes.failed;
  }
  const unjudged = unjudgedClaimsError(flags.require, scenarios);
  if (unjudged !== null) {
    process.stderr.write(unjudged);
    return exitCodes.usage;
  }
  const runs: Run[] = [];
  for (const [index, scenario] of scenarios.entries()) {
    if (index > 0) process.stdout.write('\n');
    const run = await runScenario(scenario, flags);
    runs.push(run);
    if (flags.json !== undefined) await writeRun(run, flags.json, scenarios.length > 1);
    if (run.status === 'cancelled') break;
  }
  if (scenarios.length > 1) process.stdout.write(`\n${summaryInWords(runs, scenarios.length)}\n`);
  return exitCodeOf(runs, flags.require);
}

/** The error if a required claim is not tested by any of the scenarios; null if there is none. */
export function unjudgedClaimsError(
  required: readonly string[],
  scenarios: readonly Scenario[],
): string | null {
  const judged = scenarios.flatMap(({ claims }) => claims);
  const id = required.find((claim) => !judged.includes(claim));
  if (id === undefined) return null;
  const { claimIds } = bundledStudies;
  const known = claimIds.includes(id)
    ? scenarios.map((scenario) => `${scenario.id} tests ${scenario.claims.join(', ') || 'none'}`).join('; ')
    : `the known claims are ${claimIds.join(', ')}`;
  return `--require ${id}: none of the scenarios tests this claim; ${known}\n`;
}

const scaleOf = ({ quick }: RunFlags): Scale => (quick ? 'quick' : 'full');

/** Runs a scenario, prints its progress and its results, and stores its verdicts. */
export async function runScenario(scenario: Scenario, flags: RunFlags, journal?: TrialJournal): Promise<Run> {
  const scale = scaleOf(flags);
  const { trials, estimatedMs } = planRun(scenario, scale);
  process.stdout.write(
    `${scenario.title}\n${scale}: ${trials.length} trials, about ${estimateInWords(estimatedMs)}\n`,
  );
  const line = new ProgressLine(process.stderr);
  const cancel = new AbortController();
  const onInterrupt = () => {
    line.clear();
    process.stderr.write('Interrupted: the points measured so far are kept\n');
    cancel.abort();
  };
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const run = await startRun({
    scenario,
    scale,
    signal: cancel.signal,
    ...(journal === undefined ? {} : { journal }),
    onEvent: (event) => showProgress(event, line),
    dataDir: dataFolder(flags['data-dir']),
  });
  process.off('SIGINT', onInterrupt);
  process.off('SIGTERM', onInterrupt);
  line.clear();
  process.stdout.write(`\n${reportInWords(run)}\n`);
  if (run.error !== null) {
    process.stderr.write(`${run.error.code}: ${run.error.message}\n`);
    const cause = run.error.details?.cause;
    if (cause !== undefined) process.stderr.write(`${JSON.stringify(cause, null, 2)}\n`);
  }
  if (run.status === 'done') await appendVerdicts(dataFolder(flags['data-dir']), run);
  return run;
}

function showProgress(event: RunEvent, line: ProgressLine): void {
  if (event.type === 'progress') line.progress(event.progress);
  else if (event.type === 'tick') line.tick(event.tick);
}

/** Writes a single run to the file `json`, or one of several runs to a file in the folder `json`, named by its scenario. */
export async function writeRun(run: Run, json: string, several: boolean): Promise<void> {
  const path = several ? join(json, `${run.scenario.id}.json`) : json;
  await writeJson(path, run);
  process.stdout.write(`\nWritten to ${path}\n`);
}

export function exitCodeOf(runs: readonly Run[], required: readonly string[]): number {
  if (runs.some(({ status }) => status === 'cancelled')) return exitCodes.interrupted;
  if (runs.some(({ status, points }) => status !== 'done' || points.some(isFaulty))) return exitCodes.failed;
  const unmet = required.filter((id) => {
    const judged = runs.flatMap(({ claims }) => claims.filter((claim) => claim.id === id));
    return judged.length === 0 || judged.some(({ verdict }) => verdict !== 'holds');
  });
  for (const id of unmet) process.stderr.write(`Required claim ${id} does not hold\n`);
  return unmet.length > 0 ? exitCodes.failed : exitCodes.done;
}
