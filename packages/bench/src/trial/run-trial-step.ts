/** One step of a trial: new client processes, started, stopped and drained together. */
import { createMonotonicClock } from '@shardlab/lab';
import { ClientProcess } from './client-process.ts';
import type { Job, JobResult } from './job.ts';

/** Time between the start message and the start, so that every process has received it. */
const leadMs = 20;
/** What opening, draining and closing may take beyond the phases before something is considered to hang. */
const graceMs = 120_000;

/** Rejects if a process fails or hangs; no process remains in any case. A job that crashes is killed with SIGKILL. */
export async function runTrialStep(jobs: readonly Job[], signal?: AbortSignal): Promise<JobResult[]> {
  signal?.throwIfAborted();
  const processes = jobs.map(() => new ClientProcess());
  const hurdle = Promise.withResolvers<never>();
  hurdle.promise.catch(() => {});
  const limitMs = Math.max(...jobs.map(phasesMs)) + graceMs;
  const deadline = setTimeout(
    () => hurdle.reject(new Error(`The trial did not end within ${Math.round(limitMs / 1_000)} s`)),
    limitMs,
  );
  const onAbort = () => hurdle.reject(signal!.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([runPhases(jobs, processes), hurdle.promise]);
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener('abort', onAbort);
    await Promise.all(processes.map((each) => each.kill()));
  }
}

const phasesMs = ({ warmupMs, measureMs, drainMs, fill }: Job) =>
  warmupMs + measureMs + drainMs + (fill?.withinMs ?? 0);

async function runPhases(jobs: readonly Job[], processes: readonly ClientProcess[]): Promise<JobResult[]> {
  // The first process creates the queue; the others find it.
  for (const [index, job] of jobs.entries()) {
    processes[index]!.send({ type: 'job', job });
    if (index === 0) await processes[0]!.receive('opened');
  }
  await Promise.all(processes.map((each) => each.receive('opened')));
  const startAtMs = createMonotonicClock()() + leadMs;
  for (const each of processes) each.send({ type: 'run', startAtMs });
  await Promise.all(processes.map((each) => each.receive('enqueued')));
  for (const each of processes) each.send({ type: 'sealed' });
  await Promise.all(processes.map((each) => each.receive('drained')));
  for (const each of processes) each.send({ type: 'finish' });
  const results = await Promise.all(processes.map((each) => each.receive('result')));
  await Promise.all(processes.map((each, index) => (jobs[index]!.crash ? each.kill() : each.disconnect())));
  return results.map(({ result }) => result);
}
