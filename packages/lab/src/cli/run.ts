import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Run, RunEvent } from '@shardlab/contract';
import { claimIds } from '../claims/ledger.ts';
import { keepVerdicts } from '../claims/verdict-history.ts';
import { planRun } from '../run/plan-run.ts';
import { startRun } from '../run/start-run.ts';
import { dataFolder } from './data-folder.ts';
import { durationInWords } from './duration.ts';
import { exitCodes } from './exit-codes.ts';
import { loadOrExplain } from './load-scenario.ts';
import { ProgressLine } from './progress-line.ts';
import { environmentInWords, hasIntegrityFault, resultTable, verdictsInWords } from './result-table.ts';

export interface RunFlags {
  quick: boolean;
  json?: string | undefined;
  require: string[];
  'data-dir'?: string | undefined;
}

/** `run <scenario>`: progress on standard error, results on standard output. */
export async function runScenarioCommand(target: string, flags: RunFlags): Promise<number> {
  const scenario = await loadOrExplain(target);
  if (scenario === null) return exitCodes.usage;
  const unjudged = flags.require.find((id) => !scenario.claims.includes(id));
  if (unjudged !== undefined) {
    const known = claimIds.includes(unjudged)
      ? `${scenario.id} judges ${scenario.claims.join(', ') || 'none'}`
      : `known are ${claimIds.join(', ')}`;
    process.stderr.write(`--require ${unjudged}: this claim is not judged here; ${known}\n`);
    return exitCodes.usage;
  }
  const base = process.env.INIT_CWD ?? process.cwd();
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
    ...(flags['data-dir'] === undefined ? {} : { dataDir: resolve(base, flags['data-dir']) }),
  });
  process.off('SIGINT', onInterrupt);
  process.off('SIGTERM', onInterrupt);
  line.clear();

  report(run);
  if (run.status === 'done') await keepVerdicts(dataFolder(flags['data-dir']), run);
  if (flags.json !== undefined) {
    await writeFile(resolve(base, flags.json), `${JSON.stringify(run, null, 2)}\n`);
    process.stdout.write(`\nWritten to ${flags.json}\n`);
  }
  return exitCode(run, flags.require);
}

function show(event: RunEvent, line: ProgressLine): void {
  if (event.type === 'progress') line.progress(event.progress);
  else if (event.type === 'tick') line.tick(event.tick);
}

function report(run: Run): void {
  const seconds = durationInWords((run.endedAtMs ?? 0) - (run.startedAtMs ?? 0));
  process.stdout.write(`\n${run.points.length > 0 ? resultTable(run.points) : 'No point was finished.'}\n\n`);
  if (run.points.some((point) => point.provenance === 'emulated')) {
    process.stdout.write(
      'Points with a round trip are emulated: the real engine, each call delayed by that time.\n\n',
    );
  }
  process.stdout.write(`${verdictsInWords(run.claims)}\n\n`);
  if (run.environment !== null) process.stdout.write(`${environmentInWords(run.environment)}\n`);
  process.stdout.write(`${run.status} after ${seconds}\n`);
  if (run.error !== null) {
    process.stderr.write(`${run.error.code}: ${run.error.message}\n`);
    const cause = run.error.details?.cause;
    if (cause !== undefined) process.stderr.write(`${JSON.stringify(cause, null, 2)}\n`);
  }
}

function exitCode(run: Run, required: readonly string[]): number {
  if (run.status === 'cancelled') return exitCodes.interrupted;
  if (run.status !== 'done' || run.points.some(hasIntegrityFault)) return exitCodes.failed;
  const unmet = required.filter((id) => run.claims.find((claim) => claim.id === id)?.verdict !== 'holds');
  for (const id of unmet) process.stderr.write(`Required claim ${id} does not hold\n`);
  return unmet.length > 0 ? exitCodes.failed : exitCodes.done;
}
