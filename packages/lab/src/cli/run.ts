import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Run, RunEvent, Scenario } from '@shardlab/contract';
import { isFaulty } from '../claims/judgement.ts';
import { claimIds } from '../claims/ledger.ts';
import { keepVerdicts } from '../claims/verdict-history.ts';
import { planRun } from '../run/plan-run.ts';
import { startRun } from '../run/start-run.ts';
import { dataFolder } from './data-folder.ts';
import { durationInWords } from './duration.ts';
import { exitCodes } from './exit-codes.ts';
import { loadOrExplain } from './load-scenario.ts';
import { ProgressLine } from './progress-line.ts';
import { reportInWords, summaryInWords } from './run-report.ts';

export interface RunFlags {
  quick: boolean;
  json?: string | undefined;
  require: string[];
  'data-dir'?: string | undefined;
}

const base = () => process.env.INIT_CWD ?? process.cwd();

/** `run <scenario>...`: one after the other; progress on standard error, results on standard output. */
export async function runScenariosCommand(targets: readonly string[], flags: RunFlags): Promise<number> {
  // All are read before the first one runs: a fault in the last must not show after an hour.
  const scenarios: Scenario[] = [];
  for (const target of targets) {
    const scenario = await loadOrExplain(target);
    if (scenario === null) return exitCodes.usage;
    scenarios.push(scenario);
  }
  const unjudged = unjudgedOf(flags.require, scenarios);
  if (unjudged !== null) {
    process.stderr.write(unjudged);
    return exitCodes.usage;
  }
  const runs: Run[] = [];
  for (const [index, scenario] of scenarios.entries()) {
    if (index > 0) process.stdout.write('\n');
    const run = await runOne(scenario, flags);
    runs.push(run);
    if (flags.json !== undefined) await write(run, flags.json, scenarios.length > 1);
    if (run.status === 'cancelled') break;
  }
  if (scenarios.length > 1) process.stdout.write(`\n${summaryInWords(runs, scenarios.length)}\n`);
  return exitCode(runs, flags.require);
}

/** Why a required claim cannot be: no scenario judges it. */
function unjudgedOf(required: readonly string[], scenarios: readonly Scenario[]): string | null {
  const judged = scenarios.flatMap(({ claims }) => claims);
  const id = required.find((each) => !judged.includes(each));
  if (id === undefined) return null;
  const known = claimIds.includes(id)
    ? scenarios.map((scenario) => `${scenario.id} judges ${scenario.claims.join(', ') || 'none'}`).join('; ')
    : `known are ${claimIds.join(', ')}`;
  return `--require ${id}: this claim is not judged here; ${known}\n`;
}

async function runOne(scenario: Scenario, flags: RunFlags): Promise<Run> {
  const scale = flags.quick ? 'quick' : 'full';
  const { trials, estimatedMs } = planRun(scenario, scale);
  process.stdout.write(
    `${scenario.title}\n${scale}: ${trials.length} trials, about ${durationInWords(estimatedMs)}\n`,
  );
  const line = new ProgressLine(process.stderr);
  const cancel = new AbortController();
  const onInterrupt = () => {
    line.clear();
    process.stderr.write('Interrupted: the points so far are kept\n');
    cancel.abort();
  };
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const run = await startRun({
    scenario,
    scale,
    signal: cancel.signal,
    onEvent: (event) => show(event, line),
    ...(flags['data-dir'] === undefined ? {} : { dataDir: resolve(base(), flags['data-dir']) }),
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
  if (run.status === 'done') await keepVerdicts(dataFolder(flags['data-dir']), run);
  return run;
}

function show(event: RunEvent, line: ProgressLine): void {
  if (event.type === 'progress') line.progress(event.progress);
  else if (event.type === 'tick') line.tick(event.tick);
}

/** One run into the file, several into a folder of that name, each named by its scenario. */
async function write(run: Run, json: string, several: boolean): Promise<void> {
  const path = several ? join(json, `${run.scenario.id}.json`) : json;
  await mkdir(dirname(resolve(base(), path)), { recursive: true });
  await writeFile(resolve(base(), path), `${JSON.stringify(run, null, 2)}\n`);
  process.stdout.write(`\nWritten to ${path}\n`);
}

function exitCode(runs: readonly Run[], required: readonly string[]): number {
  if (runs.some(({ status }) => status === 'cancelled')) return exitCodes.interrupted;
  if (runs.some(({ status, points }) => status !== 'done' || points.some(isFaulty))) return exitCodes.failed;
  const unmet = required.filter((id) =>
    runs.some(({ claims }) => claims.some((claim) => claim.id === id && claim.verdict !== 'holds')),
  );
  for (const id of unmet) process.stderr.write(`Required claim ${id} does not hold\n`);
  return unmet.length > 0 ? exitCodes.failed : exitCodes.done;
}
