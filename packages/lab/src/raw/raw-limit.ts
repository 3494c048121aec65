/** The limit of SQLite through its binding: the same rows without a queue. Each trial runs in a new process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface RawJob {
  /** Its files are in a folder `raw` here while it runs: the same file system as what it is compared with. */
  dir: string;
  cycle: 'insert' | 'insert-select-delete';
  operationsPerTransaction: number;
  pageBytes: 4096 | 16384;
  payloadBytes: number;
  /** Length of the measured window; the warm-up before it is a fifth of that. */
  measureMs: number;
}

export interface RawResult {
  rowsPerSec: number;
  cpuUsPerRow: number;
}

/** Runs a job; rejects if the process fails, or with the signal's reason, after which the process has ended. */
export async function measureRaw(job: RawJob, signal?: AbortSignal): Promise<RawResult> {
  signal?.throwIfAborted();
  const text = JSON.stringify({ ...job, dir: join(job.dir, 'raw') });
  // `.ts` in the repository, `.js` where it is compiled.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const child = fork(new URL(`./raw-process${extension}`, import.meta.url), [text], { execArgv: [] });
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  const ended = once(child, 'exit');
  const answer = await Promise.race([once(child, 'message'), ended.then(() => undefined)]);
  const [code] = (await ended) as [number | null];
  signal?.removeEventListener('abort', kill);
  signal?.throwIfAborted();
  if (answer === undefined || code !== 0)
    throw new Error(`The raw trial ended with exit code ${String(code)}`);
  return answer[0] as RawResult;
}
