/** One step of a trial: new client processes, started, stopped and drained together. */
import { fileURLToPath } from 'node:url';
import { createMonotonicClock } from '../../meters/clock.ts';
import { ClientProcess } from '../client-process.ts';
import type { FromClient, LoadJob, LoadResult, ToClient } from './load-job.ts';

const clientFile = fileURLToPath(new URL('./client.ts', import.meta.url));
/** Time between the start message and the start, so that every process has received it. */
const leadMs = 20;

export interface StepOptions {
  jobs: readonly LoadJob[];
  /** Rejects when the trial must end. */
  reached: Promise<never>;
  /** Called with the process ids once all are open. */
  onOpen?: ((pids: number[]) => void) | undefined;
}

type Process = ClientProcess<FromClient, ToClient>;

/** Rejects if a process fails, or the trial must end; no process remains in any case. */
export async function runStep({ jobs, reached, onOpen }: StepOptions): Promise<LoadResult[]> {
  const processes = jobs.map((): Process => new ClientProcess(clientFile));
  try {
    return await Promise.race([runPhases(jobs, processes, onOpen), reached]);
  } finally {
    await Promise.all(processes.map((each) => each.kill()));
  }
}

async function runPhases(
  jobs: readonly LoadJob[],
  processes: readonly Process[],
  onOpen: StepOptions['onOpen'],
): Promise<LoadResult[]> {
  // The first process creates the queue; the others find it.
  for (const [index, job] of jobs.entries()) {
    processes[index]!.send({ type: 'job', job });
    if (index === 0) await processes[0]!.receive('opened');
  }
  await Promise.all(processes.map((each) => each.receive('opened')));
  onOpen?.(processes.map(({ pid }) => pid!));
  const startAtMs = createMonotonicClock()() + leadMs;
  for (const each of processes) each.send({ type: 'run', startAtMs });
  await Promise.all(processes.map((each) => each.receive('enqueued')));
  for (const each of processes) each.send({ type: 'sealed' });
  await Promise.all(processes.map((each) => each.receive('drained')));
  for (const each of processes) each.send({ type: 'finish' });
  const results = await Promise.all(processes.map((each) => each.receive('result')));
  await Promise.all(
    processes.map((each, index) => (jobs[index]!.isKilled ? each.kill() : each.disconnect())),
  );
  return results.map(({ result }) => result);
}
