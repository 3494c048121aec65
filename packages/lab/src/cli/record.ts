import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Scale, Scenario } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { isFaulty } from '../judging/judgement.ts';
import { codeFingerprint } from '../recorded/code-fingerprint.ts';
import { estimateRecordingMs } from '../recorded/estimate-recording.ts';
import {
  type RecordedText,
  readRecorded,
  recordedFolder,
  ticksToReplay,
  writeRecorded,
} from '../recorded/recorded-run.ts';
import { judgeAgain } from '../recorded/recorded-verdicts.ts';
import { assertSystemsAvailable, installMissing } from '../run/available-systems.ts';
import { planRun, type RunPlan } from '../run/plan-run.ts';
import { startRun } from '../run/start-run.ts';
import { identityOf, TrialJournal } from '../run/trial-journal.ts';
import { readScenarios } from '../scenario/scenario-folder.ts';
import { estimateInWords } from './duration.ts';
import { dataFolder, fromCaller } from './folders.ts';
import { loadOrExplain } from './load-scenario.ts';
import { ProgressLine } from './progress-line.ts';
import { sayLine } from './run.ts';

/** A timer of more than 2^31 ms, some 596 hours, would fire at once. */
const hoursMax = 500;

export interface RecordFlags {
  quick: boolean;
  hours?: string | undefined;
  into?: string | undefined;
  'judge-only': boolean;
  'data-dir'?: string | undefined;
}

/**
 * `record [scenario]...`: runs the built-in scenarios, or the named ones, at full scale and keeps the runs in the
 * repository. A scenario whose recording was made by the same code is left out, so the same command repeats all of it after
 * a change and continues after an interruption.
 */
export async function recordCommand(targets: readonly string[], flags: RecordFlags): Promise<number> {
  const hours = flags.hours === undefined ? Number.POSITIVE_INFINITY : Number(flags.hours);
  if (!(hours > 0 && (hours <= hoursMax || flags.hours === undefined))) {
    process.stderr.write(`--hours must be a number above 0 and up to ${hoursMax}, not "${flags.hours}"\n`);
    return exitCodes.usage;
  }
  const scenarios = await scenariosOf(targets);
  if (scenarios === null) return exitCodes.usage;
  if (flags['judge-only']) return judgeRecorded(scenarios, folderOf(flags));
  const cancel = new AbortController();
  const stop = () => cancel.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const timer = Number.isFinite(hours) ? setTimeout(stop, hours * 3_600_000) : undefined;
  try {
    return await new Recording(flags, cancel.signal).record(scenarios);
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  }
}

/** Of the scenarios that are recorded; measures nothing. */
async function judgeRecorded(scenarios: readonly Scenario[], folder: string): Promise<number> {
  for (const { id } of scenarios) {
    const recorded = await readRecorded(id, folder);
    if (recorded === undefined) continue;
    process.stdout.write(`${id}: ${judgeAgain(recorded, folder) ? 'judged anew' : 'verdicts as before'}
`);
  }
  return exitCodes.done;
}

const folderOf = ({ into }: RecordFlags): string => (into === undefined ? recordedFolder : fromCaller(into));

/** Null if one of them has faults, which were printed. */
async function scenariosOf(targets: readonly string[]): Promise<Scenario[] | null> {
  const scenarios: Scenario[] = [];
  if (targets.length === 0) {
    for (const { parsed } of await readScenarios()) if (parsed.ok) scenarios.push(parsed.scenario);
    return scenarios;
  }
  for (const target of targets) {
    const scenario = await loadOrExplain(target);
    if (scenario === null) return null;
    scenarios.push(scenario);
  }
  return scenarios;
}

class Recording {
  readonly #signal: AbortSignal;
  readonly #scale: Scale;
  readonly #folder: string;
  readonly #code = codeFingerprint();
  readonly #dataDir: string;
  readonly #journal: TrialJournal;

  constructor(flags: RecordFlags, signal: AbortSignal) {
    this.#signal = signal;
    this.#scale = flags.quick ? 'quick' : 'full';
    this.#folder = folderOf(flags);
    this.#dataDir = dataFolder(flags['data-dir']);
    this.#journal = new TrialJournal(join(this.#dataDir, 'recording', `${this.#code}.jsonl`));
  }

  /** Resolves with the exit code. */
  async record(scenarios: readonly Scenario[]): Promise<number> {
    const failed: string[] = [];
    const upToDate = new Map<Scenario, RecordedText>();
    for (const scenario of scenarios) {
      const recorded = await this.#findUpToDate(scenario);
      if (recorded !== undefined) upToDate.set(scenario, recorded);
    }
    const left = scenarios.filter((scenario) => !upToDate.has(scenario));
    const leftMs = estimateRecordingMs(
      left,
      this.#scale,
      (identity) => this.#journal.find(identity) !== undefined,
    );
    if (left.length > 1) process.stdout.write(`${left.length} scenarios, about ${estimateInWords(leftMs)}\n`);
    for (const scenario of scenarios) {
      const recorded = upToDate.get(scenario);
      if (recorded !== undefined) {
        const isJudgedAnew = judgeAgain(recorded, this.#folder);
        const anew = isJudgedAnew ? ', judged anew by judges that have changed' : '';
        process.stdout.write(`${scenario.id}: recorded already by this code${anew}\n`);
        continue;
      }
      if (!(await this.#recordOne(scenario))) failed.push(scenario.id);
      if (this.#signal.aborted) {
        process.stdout.write('Stopped. The measured trials are kept; repeat the command to continue\n');
        return exitCodes.interrupted;
      }
    }
    if (failed.length === 0) return exitCodes.done;
    process.stderr.write(`Not recorded: ${failed.join(', ')}\n`);
    return exitCodes.failed;
  }

  async #findUpToDate(scenario: Scenario): Promise<RecordedText | undefined> {
    const recorded = await readRecorded(scenario.id, this.#folder);
    const isUpToDate =
      recorded?.code === this.#code &&
      recorded.run.scale === this.#scale &&
      isDeepStrictEqual(recorded.run.scenario, scenario);
    return isUpToDate ? recorded : undefined;
  }

  /** Whether the scenario was recorded; why not was printed. */
  async #recordOne(scenario: Scenario): Promise<boolean> {
    const scale = this.#scale;
    try {
      await installMissing(scenario, scale, sayLine);
      assertSystemsAvailable(scenario, scale);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      process.stderr.write(`${scenario.id}: ${error.message}\n`);
      return false;
    }
    const plan = planRun(scenario, scale);
    const left = plan.trials.filter((trial) => !this.#journal.find(identityOf(trial, scenario, plan))).length;
    const ms = (plan.estimatedMs * left) / plan.trials.length;
    process.stdout.write(
      `${scenario.id}: ${left} of ${plan.trials.length} trials to run, about ${estimateInWords(ms)}\n`,
    );
    const line = new ProgressLine(process.stderr);
    const run = await startRun({
      scenario,
      scale,
      journal: this.#journal,
      dataDir: this.#dataDir,
      signal: this.#signal,
      onEvent: (event) => {
        if (event.type === 'progress') line.progress(event.progress);
      },
    });
    line.clear();
    if (run.status === 'cancelled') return false;
    if (run.status === 'failed' || run.points.some(isFaulty)) {
      process.stderr.write(`${scenario.id}: ${run.error?.message ?? 'a point has faults of integrity'}\n`);
      return false;
    }
    const ticks = ticksToReplay(run, plan.program.figures[0]!.name, this.#ticks(scenario, plan));
    const path = writeRecorded({ code: this.#code, run, ticks }, this.#folder);
    process.stdout.write(`${scenario.id}: ${path}, ${Math.round(statSync(path).size / 1024)} KiB\n`);
    return true;
  }

  #ticks(scenario: Scenario, plan: RunPlan) {
    return this.#journal.ticksOf(plan.trials.map((trial) => identityOf(trial, scenario, plan)));
  }
}
