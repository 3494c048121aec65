/** The limit of SQLite through its binding: the same rows without a queue. Each trial runs in a new process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Scale } from '../plan/scale.ts';

export interface RawJob {
  dir: string;
  cycle: 'insert' | 'insert-select-delete';
  operationsPerTransaction: number;
  pageBytes: 4096 | 16384;
  payloadBytes: number;
  measureMs: number;
}

export type RawKind = Pick<RawJob, 'cycle' | 'operationsPerTransaction' | 'pageBytes'>;

export function rawKindsOf(scale: Scale): RawKind[] {
  return scale.rawOperations.flatMap((operationsPerTransaction) =>
    ([4096, 16384] as const).flatMap((pageBytes) =>
      (['insert', 'insert-select-delete'] as const).map((cycle) => ({
        cycle,
        operationsPerTransaction,
        pageBytes,
      })),
    ),
  );
}

export interface RawResult {
  rowsPerSec: number;
  cpuUsPerRow: number;
}

/** Runs a job in a temporary folder under `dir`; rejects if the process fails. */
export async function measureRaw(job: RawJob): Promise<RawResult> {
  const text = JSON.stringify({ ...job, dir: join(job.dir, 'raw') });
  const child = fork(new URL('./raw-process.ts', import.meta.url), [text]);
  const ended = once(child, 'exit');
  const answer = await Promise.race([once(child, 'message'), ended.then(() => undefined)]);
  const [code] = (await ended) as [number | null];
  if (answer === undefined || code !== 0)
    throw new Error(`The raw trial ended with exit code ${String(code)}`);
  return answer[0] as RawResult;
}
