/** `study <id>`: runs all scenarios of a study, with the systems that this machine has, and writes a report. */
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Run, Scale, Scenario } from '@shardlab/contract';
import { writeSection } from '../model/markdown.ts';
import { gitCommit } from '../run/environment.ts';
import { type Runnable, withoutMissing } from '../run/without-missing.ts';
import { readScenarioFolder } from '../scenario/scenario-folder.ts';
import { bundledStudies } from '../studies/registry.ts';
import type { Study } from '../studies/study.ts';
import { hasClientPackages, installClientPackages } from '../systems/peers/client-packages.ts';
import { dataFolder } from './data-folder.ts';
import { exitCodes } from './exit-codes.ts';
import { baseFolder, exitCodeOf, type RunFlags, runFile, runScenario, writeRun } from './run.ts';
import { summaryInWords } from './run-report.ts';
import { studyReport } from './study-report.ts';

export interface StudyFlags extends RunFlags {
  write?: string | undefined;
  resume: boolean;
}

const tmpfsMagic = 0x01021994;

/** `scenarioFolder`: default those that come with the lab. */
export async function studyCommand(id: string, flags: StudyFlags, scenarioFolder?: string): Promise<number> {
  const study = bundledStudies.studies.find((each) => each.id === id);
  if (study === undefined) {
    const known = bundledStudies.studies.map((each) => each.id).join(', ');
    process.stderr.write(`There is no study "${id}"; the studies are ${known}\n`);
    return exitCodes.usage;
  }
  if (flags.resume && flags.json === undefined) {
    process.stderr.write('--resume needs --json: the folder with the runs that need not be repeated\n');
    return exitCodes.usage;
  }
  const folder = dataFolder(flags['data-dir']);
  await mkdir(folder, { recursive: true });
  if (statfsSync(folder).type === tmpfsMagic) {
    process.stderr.write(
      `${folder} is in memory (tmpfs), where syncs cost nothing; name another folder with --data-dir\n`,
    );
    return exitCodes.failed;
  }
  const scale: Scale = flags.quick ? 'quick' : 'full';
  const planned = await scenariosOf(study, { scale, folder, scenarioFolder });
  for (const sentence of new Set(planned.flatMap(({ absent }) => absent)))
    process.stderr.write(`Left out: ${sentence}\n`);
  const runs = await runAll(planned, { ...flags, 'data-dir': folder });
  process.stdout.write(`\n${summaryInWords(runs, planned.length)}\n`);
  // Half a study must not replace the report of a whole one.
  const isWhole = runs.every(({ status }) => status !== 'cancelled');
  if (flags.write !== undefined && isWhole)
    await writeSection(
      resolve(baseFolder(), flags.write),
      `study ${id}`,
      studyReport({ study, runs, planned, scale }),
    );
  return exitCodeOf(runs, flags.require);
}

/** Installs client libraries if a scenario's systems have them; without a network those systems are left out. */
async function scenariosOf(
  study: Study,
  { scale, folder, scenarioFolder }: { scale: Scale; folder: string; scenarioFolder: string | undefined },
): Promise<Runnable[]> {
  const scenarios = (await readScenarioFolder(scenarioFolder)).flatMap(({ parsed }) =>
    parsed.ok && parsed.scenario.study === study.id ? [parsed.scenario] : [],
  );
  const cut = () => scenarios.map((scenario) => withoutMissing(scenario, scale, folder));
  const before = cut();
  if (hasClientPackages() || before.every(({ absent }) => absent.length === 0)) return before;
  const failure = installClientPackages();
  if (failure !== null) process.stderr.write(`${failure}\n`);
  return failure === null ? cut() : before;
}

async function runAll(
  planned: readonly Runnable[],
  flags: StudyFlags & { 'data-dir': string },
): Promise<Run[]> {
  const runs: Run[] = [];
  const commit = await gitCommit();
  for (const { scenario } of planned) {
    if (scenario === null) continue;
    const before = flags.resume ? readRun(flags.json!, scenario, flags, commit) : null;
    if (before !== null) process.stdout.write(`\n${scenario.title}\nmeasured before\n`);
    else process.stdout.write('\n');
    const run = before ?? (await runScenario(scenario, flags));
    runs.push(run);
    if (flags.json !== undefined && before === null) await writeRun(run, flags.json, true);
    if (run.status === 'cancelled') break;
  }
  return runs;
}

/** A finished run of the same scenario at the same scale and commit; null if there is none. */
export function readRun(
  folder: string,
  scenario: Scenario,
  { quick }: Pick<RunFlags, 'quick'>,
  commit: string | null,
): Run | null {
  const path = resolve(baseFolder(), runFile(folder, scenario));
  if (!existsSync(path)) return null;
  const run = parsed(readFileSync(path, 'utf8'));
  if (run?.status !== 'done' || run.scale !== (quick ? 'quick' : 'full')) return null;
  const isSame = JSON.stringify(run.scenario) === JSON.stringify(scenario);
  return isSame && run.environment?.commit === commit ? run : null;
}

/** Null for half a file, which a killed command left. */
function parsed(text: string): Run | null {
  try {
    return JSON.parse(text) as Run;
  } catch {
    return null;
  }
}
