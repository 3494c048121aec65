/** The limit of SQLite through its binding: the same rows, nothing around them. Each trial runs in a fresh process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';

export interface RawJob {
  dir: string;
  cycle: 'insert' | 'insert-select-delete';
  operationsPerTransaction: number;
  pageBytes: 4096 | 16384;
  payloadBytes: number;
  measureMs: number;
}

export interface RawResult {
  rowsPerSec: number;
  cpuUsPerRow: number;
}

/** Runs a job and ends; rejects if the process fails. */
export async function measureRaw(job: RawJob): Promise<RawResult> {
  const child = fork(new URL('./raw-process.ts', import.meta.url), [JSON.stringify(job)]);
  const ended = once(child, 'exit');
  const answer = await Promise.race([once(child, 'message'), ended.then(() => undefined)]);
  const [code] = (await ended) as [number | null];
  if (answer === undefined || code !== 0) throw new Error(`the raw trial ended with ${String(code)}`);
  return answer[0] as RawResult;
}
