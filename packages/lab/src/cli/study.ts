/** `study <id>`: runs all scenarios of a study, with the systems that this machine has, or reads their recorded runs; writes a report. */
import { rmSync, statfsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run, Scale, Scenario } from '@shardlab/contract';
import { exitCodes } from '../errors/exit-codes.ts';
import { assertSection, writeSection } from '../model/markdown.ts';
import { codeFingerprint } from '../recorded/code-fingerprint.ts';
import { pointsOf, readRecorded, recordedFolder } from '../recorded/recorded-run.ts';
import { installMissing } from '../run/available-systems.ts';
import { TrialJournal } from '../run/trial-journal.ts';
import { type Runnable, withoutMissing } from '../run/without-missing.ts';
import { readScenarioFolder, readScenarios } from '../scenario/scenario-folder.ts';
import { bundledStudies } from '../studies/registry.ts';
import type { Study } from '../studies/study.ts';
import { hasClientPackages, installClientPackages } from '../systems/peers/client-packages.ts';
import { versionsOf } from '../systems/versions.ts';
import { dataFolder, fromCaller } from './folders.ts';
import { exitCodeOf, type RunFlags, runScenario, sayLine, unjudgedClaimsError, writeRun } from './run.ts';
import { summaryInWords } from './run-report.ts';
import { studyReport } from './study-report.ts';

export interface StudyFlags extends RunFlags {
  write?: string | undefined;
  resume: boolean;
  recorded: boolean;
}

const tmpfsMagic = 0x01021994;

interface StudyFolders {
  scenarios?: string;
  recorded?: string;
}

/** `folders` default to those of the lab itself. */
export async function studyCommand(
  id: string,
  flags: StudyFlags,
  folders: StudyFolders = {},
): Promise<number> {
  const study = bundledStudies.studies.find((each) => each.id === id);
  if (study === undefined) {
    const known = bundledStudies.studies.map((each) => each.id).join(', ');
    process.stderr.write(`There is no study "${id}"; the studies are ${known}\n`);
    return exitCodes.usage;
  }
  const section = `study ${id}`;
  const report = flags.write === undefined ? undefined : fromCaller(flags.write);
  if (report !== undefined) {
    try {
      await assertSection(report, section);
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n`);
      return exitCodes.usage;
    }
  }
  if (flags.recorded) {
    const text = await recordedReport(study, folders);
    if (report === undefined) process.stdout.write(`${text}\n`);
    else await writeSection(report, section, text);
    return exitCodes.done;
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
  const planned = await runnablesOf(study, { scale, folder, folders });
  const absent = [...new Set(planned.flatMap((each) => each.absent))];
  for (const sentence of absent) process.stderr.write(`Left out: ${sentence}\n`);
  const unjudged = unjudgedClaimsError(
    flags.require,
    planned.flatMap((each) => each.scenario ?? []),
  );
  if (unjudged !== null) {
    process.stderr.write(unjudged);
    return exitCodes.usage;
  }
  const runs = await runAll(planned, { ...flags, 'data-dir': folder }, openJournal(folder, id, flags.resume));
  process.stdout.write(`\n${summaryInWords(runs, planned.length)}\n`);
  // Half a study must not replace the report of a whole one.
  const isWhole = runs.every(({ status }) => status !== 'cancelled');
  if (report !== undefined && isWhole) {
    const versions = versionsOf(runs.flatMap(({ points }) => points.map(({ system }) => system)));
    await writeSection(report, section, studyReport({ study, runs, absent, versions, scale }));
  }
  return exitCodeOf(runs, flags.require);
}

/** Of the runs that the repository keeps. The servers and libraries of their machine are not known. */
async function recordedReport(study: Study, folders: StudyFolders): Promise<string> {
  const runs: Run[] = [];
  const absent: string[] = [];
  for (const { id, title } of await scenariosOf(study, folders)) {
    const recorded = await readRecorded(id, folders.recorded ?? recordedFolder);
    if (recorded === undefined) absent.push(`${title}: not recorded`);
    else runs.push({ ...recorded.run, points: pointsOf(recorded) });
  }
  return studyReport({ study, runs, absent, versions: [], scale: 'full' });
}

async function scenariosOf(study: Study, folders: StudyFolders): Promise<Scenario[]> {
  const files =
    folders.scenarios === undefined ? await readScenarios() : await readScenarioFolder(folders.scenarios);
  return files.flatMap(({ parsed }) =>
    parsed.ok && parsed.scenario.study === study.id ? [parsed.scenario] : [],
  );
}

/** Installs servers and client libraries that the scenarios' systems lack; without a network those systems are left out. */
async function runnablesOf(
  study: Study,
  { scale, folder, folders }: { scale: Scale; folder: string; folders: StudyFolders },
): Promise<Runnable[]> {
  const scenarios = await scenariosOf(study, folders);
  for (const scenario of scenarios) await installMissing(scenario, scale, sayLine);
  const cut = () => scenarios.map((scenario) => withoutMissing(scenario, scale, folder));
  const before = cut();
  if (hasClientPackages() || before.every(({ absent }) => absent.length === 0)) return before;
  const failure = installClientPackages();
  if (failure !== null) process.stderr.write(`${failure}\n`);
  return failure === null ? cut() : before;
}

async function runAll(
  planned: readonly Runnable[],
  flags: StudyFlags,
  journal: TrialJournal,
): Promise<Run[]> {
  const runs: Run[] = [];
  for (const { scenario } of planned) {
    if (scenario === null) continue;
    process.stdout.write('\n');
    const run = await runScenario(scenario, flags, journal);
    runs.push(run);
    if (flags.json !== undefined) await writeRun(run, flags.json, true);
    if (run.status === 'cancelled') break;
  }
  return runs;
}

/** Trials of this code that were measured for the study; none of before, unless it is resumed. */
function openJournal(folder: string, id: string, isResumed: boolean): TrialJournal {
  const path = join(folder, 'study', `${id}-${codeFingerprint()}.jsonl`);
  if (!isResumed) rmSync(path, { force: true });
  return new TrialJournal(path);
}
