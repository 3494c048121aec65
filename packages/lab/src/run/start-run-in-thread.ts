/**
 * Runs a scenario in a thread of its own, for a host that has other work. Judging the claims after each point, merging
 * histograms and checking that every message arrived take up to a quarter of a second at a time.
 */
import { randomUUID } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Run, RunEvent } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { bundledStudies } from '../studies/registry.ts';
import { applyRunEvent, newRun } from './run-state.ts';
import type { StartRunOptions } from './start-run.ts';

/** A message of the thread: an event, and the other changes of the run. The whole run may have megabytes. */
export interface RunUpdate {
  /** Null: the run has ended. */
  event: RunEvent | null;
  changes: Pick<Run, 'startedAtMs' | 'endedAtMs' | 'environment' | 'progress'>;
}

export interface StartRunInThreadOptions extends Omit<StartRunOptions, 'now' | 'freeBytes' | 'journal'> {
  /** File of trials that were measured before and are not run again; created if missing. Default: none. */
  journalPath?: string;
}

/** Worker data of the thread, which loads the studies anew: their programs and judges are functions, which no message can carry. */
export interface RunThreadData
  extends Omit<StartRunInThreadOptions, 'signal' | 'onEvent' | 'watched' | 'studies'> {
  /** Addresses of the folders of the studies. */
  studyFolders: readonly string[];
}

/**
 * Like `startRun`, with the same events. Resolves once the thread has ended. Rejects with what `onEvent` threw, after the
 * run was cancelled. Throws a RangeError if the studies were not loaded from folders.
 */
export function startRunInThread(options: StartRunInThreadOptions): Promise<Run> {
  const { signal, onEvent, watched, studies = bundledStudies, ...rest } = options;
  const given = { id: randomUUID(), createdAtMs: Date.now(), ...rest };
  if (studies.folders === null) throw new RangeError('a thread can only load studies from folders');
  const studyFolders = studies.folders.map(({ href }) => href);
  let run = newRun({ ...given, studies });
  let ended = false;
  let fault: { error: unknown } | undefined;

  // `.ts` in the repository, `.js` where it is compiled.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const thread = new Worker(new URL(`./run-thread${extension}`, import.meta.url), {
    workerData: { ...given, studyFolders } satisfies RunThreadData,
    name: 'run',
  });
  const cancel = () => thread.postMessage('cancel');
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });

  const emit = (event: RunEvent): void => {
    run = applyRunEvent(run, event);
    if (!run.watched && watched?.()) run = { ...run, watched: true };
    onEvent?.(event.type === 'end' ? { type: 'end', run } : event, run);
  };
  const tell = (update: RunUpdate): void => {
    if (fault !== undefined) return;
    ended = update.event === null;
    run = { ...run, ...update.changes };
    try {
      emit(update.event ?? { type: 'end', run });
    } catch (error) {
      fault = { error };
      cancel();
    }
  };
  const fail = (cause: unknown): void => {
    const { code, message, retryable } = new LabError('WORKER_FAILED', {
      message: `The thread of the run failed: ${String(cause)}`,
    });
    const changes = { ...run, endedAtMs: Date.now(), progress: { ...run.progress, etaMs: null } };
    tell({ event: { type: 'status', status: 'failed', error: { code, message, retryable } }, changes });
    tell({ event: null, changes: run });
  };

  return new Promise((resolve, reject) => {
    let cause: unknown = 'it ended too early';
    thread.on('message', tell);
    thread.on('error', (error) => {
      cause = error;
    });
    thread.on('exit', () => {
      signal?.removeEventListener('abort', cancel);
      if (!ended) fail(cause);
      if (fault === undefined) resolve(run);
      else reject(fault.error);
    });
  });
}
