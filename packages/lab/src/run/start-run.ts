/** Runs a scenario: its trials in order, each in its own folder and processes. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ErrorBody, KilledTrial, Run, RunEvent, Scale, Scenario } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import { Surroundings } from '../surroundings/surroundings.ts';
import { makeScratchFolder } from '../trial/scratch-folder.ts';
import type { MeasuredRepeat } from '../trial/trial.ts';
import { assertSystemsAvailable, installMissing } from './available-systems.ts';
import { assertDiskSpace, freeBytesOf } from './disk-space.ts';
import { captureEnvironment } from './environment.ts';
import { durabilityOf, withSharesOfLoops } from './measured-beside.ts';
import { planRun, trialInWords } from './plan-run.ts';
import { summarisePoint } from './point.ts';
import { applyRunEvent, newRun } from './run-state.ts';
import { TimeLeft } from './time-left.ts';
import { identityOf, type TrialJournal } from './trial-journal.ts';
import { TrialMeasurer } from './trial-measurer.ts';

export interface StartRunOptions {
  /** A scenario returned by `parseScenario`. */
  scenario: Scenario;
  scale: Scale;
  /** Default: a random UUID. */
  id?: string;
  /** When the run was requested, epoch milliseconds; default: now. */
  createdAtMs?: number;
  /** Parent of the scratch folder; created if missing; default: the system's temporary folder. */
  dataDir?: string;
  /** Called with each event and the run after it. Must not throw. */
  onEvent?: (event: RunEvent, run: Run) => void;
  /** Cancels the run: the current trial is discarded, finished points are kept. */
  signal?: AbortSignal;
  /** Whether a client is following the run. Followers cost CPU time, so the run records whether it ever had one. */
  watched?: () => boolean;
  /** Epoch milliseconds. */
  now?: () => number;
  freeBytes?: (folder: string) => Promise<number>;
  /** The studies whose claims are judged; default: the bundled ones. */
  studies?: StudyRegistry;
  /** Trials that were measured before, which are not run again. The others are added to it. */
  journal?: TrialJournal;
  /** For a resumed run: where its time continues, milliseconds after its start; default 0. */
  elapsedMs?: number;
}

/**
 * Resolves with the run when it is `done`, `cancelled` by the signal, or `failed` with its error; in each case with the
 * finished points. Never rejects. The last events are `status` and `end`.
 */
export async function startRun(options: StartRunOptions): Promise<Run> {
  const { scenario, scale, signal, elapsedMs = 0, studies = bundledStudies } = options;
  const now = options.now ?? Date.now;
  const plan = planRun(scenario, scale, studies);
  const timeLeft = new TimeLeft(plan);
  const outcomes = new Map<string, MeasuredRepeat[]>();
  const killed = new Map<string, KilledTrial>();
  let measurer: TrialMeasurer | undefined;
  const id = options.id ?? randomUUID();
  let run = newRun({ id, scenario, scale, createdAtMs: options.createdAtMs ?? now(), studies });
  let folder: string | null = null;
  let failure: unknown;

  const emit = (event: RunEvent): void => {
    run = applyRunEvent(run, event);
    if (!run.watched && options.watched?.()) run = { ...run, watched: true };
    options.onEvent?.(event, run);
  };
  const emitProgress = (done: number, current?: string): void => {
    const { measuredAgain = 0 } = measurer ?? {};
    const progress = {
      done,
      total: plan.trials.length,
      etaMs: timeLeft.etaMs(),
      ...(measuredAgain === 0 ? {} : { measuredAgain }),
    };
    emit({ type: 'progress', progress: current === undefined ? progress : { ...progress, current } });
  };
  const finish = (status: 'done' | 'failed' | 'cancelled', error?: ErrorBody): void => {
    run = { ...run, endedAtMs: now(), progress: { ...run.progress, etaMs: status === 'done' ? 0 : null } };
    emit(error === undefined ? { type: 'status', status } : { type: 'status', status, error });
  };

  const startedAtMs = now();
  run = { ...run, startedAtMs };
  emit({ type: 'status', status: 'running' });
  try {
    signal?.throwIfAborted();
    folder = await makeScratchFolder(options.dataDir ?? tmpdir());
    await installMissing(scenario, scale, (sentence) => emitProgress(0, sentence), studies);
    signal?.throwIfAborted();
    assertSystemsAvailable(scenario, scale, { studies, folder });
    const environment = await captureEnvironment(folder);
    run = { ...run, environment };
    const surroundings = new Surroundings({
      folder,
      startSyncMs: environment.syncMs.p50,
      scale,
      ...(signal === undefined ? {} : { signal }),
    });
    measurer = new TrialMeasurer({
      plan,
      scenario,
      surroundings,
      scale,
      ...(signal === undefined ? {} : { signal }),
      onTick: (tick) => {
        const inRun = { ...tick, atMs: now() - startedAtMs + elapsedMs };
        emit({ type: 'tick', tick: inRun });
        return inRun;
      },
      onDetour: (trial, why) => emitProgress(trial.index, `${trialInWords(trial, plan)}, ${why}`),
    });
    for (const trial of plan.trials) {
      signal?.throwIfAborted();
      emitProgress(trial.index, trialInWords(trial, plan));
      const trialStart = now();
      const identity = identityOf(trial, scenario, plan);
      let measured = options.journal?.find(identity);
      if (measured === undefined) {
        const needBytes = plan.program.trialBytesMax(scenario, trial.params);
        assertDiskSpace({ folder, needBytes, freeBytes: await (options.freeBytes ?? freeBytesOf)(folder) });
        measured = await measurer.measure(trial, join(folder, `trial-${trial.index}`));
        options.journal?.add(identity, measured);
        timeLeft.recordTrial(now() - trialStart);
      } else timeLeft.skipTrial();
      if (measured.killed !== undefined) killed.set(trial.key, measured.killed);
      const repeat = withSharesOfLoops(trial, measured.repeat, plan.program, outcomes);
      const repeats = [...(outcomes.get(trial.key) ?? []), repeat];
      outcomes.set(trial.key, repeats);
      const durability = durabilityOf(trial, plan.program, killed.get(trial.key));
      const point = summarisePoint(trial, repeats, plan.program, durability);
      const { points } = applyRunEvent(run, { type: 'point', point, claims: [] });
      emit({ type: 'point', point, claims: studies.judge(scenario.claims, points, environment) });
      emitProgress(trial.index + 1);
    }
  } catch (error) {
    failure = error;
  }
  // Before the run reports its end, because a client that sees the status may delete the run or stop the process.
  if (folder !== null) await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  if (failure === undefined) finish('done');
  else if (signal?.aborted) finish('cancelled');
  else finish('failed', errorBody(failure, folder));
  emit({ type: 'end', run });
  return run;
}

/**
 * Errors of the engine arrive here as the cause of `WORKER_FAILED`, because they happen in another process; those of the system
 * in the run's folder are `DATA_FOLDER_UNUSABLE`.
 */
function errorBody(error: unknown, folder: string | null): ErrorBody {
  if (folder !== null && isOfFolder(error, folder)) {
    const message = `The folder for trials, “${dirname(folder)}”, cannot be used: ${error.message}`;
    return errorBody(new LabError('DATA_FOLDER_UNUSABLE', { message, cause: error }), null);
  }
  if (!(error instanceof LabError)) return { code: 'INTERNAL', message: String(error), retryable: false };
  const { code, message, retryable, details } = error;
  return {
    code,
    message,
    retryable,
    ...(Object.keys(details).length > 0 ? { details: { ...details } } : {}),
  };
}

const isOfFolder = (error: unknown, folder: string): error is Error =>
  error instanceof Error &&
  'path' in error &&
  typeof error.path === 'string' &&
  error.path.startsWith(folder);
