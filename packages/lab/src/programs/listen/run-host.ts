/** Runs the one process of a trial, which hosts the instance and its threads. */
import { mkdir, rm } from 'node:fs/promises';
import type { TrialOptions } from '../../trial/trial.ts';
import { TrialLimit } from '../../trial/trial-limit.ts';
import { ClientProcess } from '../client-process.ts';

/** Starting a hundred threads on a busy machine takes less; after this time something hangs. */
const graceMsDefault = 180_000;

interface HostReport<Result> {
  type: 'result';
  result: Result;
}

/** Rejects if the process fails or hangs, or the signal aborts; no process and no file of it remains in any case. */
export async function runHost<Result, Job extends { dir: string }>(
  { dir, phases: { warmupMs, measureMs, drainMs }, graceMs = graceMsDefault, signal, onOpen }: TrialOptions,
  file: string,
  job: Job,
): Promise<Result> {
  signal?.throwIfAborted();
  const limit = new TrialLimit(warmupMs + measureMs + drainMs + graceMs, signal);
  await mkdir(dir, { recursive: true });
  const host = new ClientProcess<HostReport<Result>, { type: 'job'; job: Job }>(file);
  try {
    onOpen?.([host.pid!]);
    host.send({ type: 'job', job });
    const { result } = await Promise.race([host.receive('result'), limit.reached]);
    await host.disconnect();
    return result;
  } finally {
    limit.clear();
    await host.end();
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}
