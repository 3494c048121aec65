/**
 * All verdicts about the claims, one per line, oldest first: those of the command line and those of a server on the same
 * data folder. Lines are only appended, so that concurrent runs do not overwrite each other. When the file exceeds its
 * limit, the older half is dropped.
 */
import { appendFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClaimResult, Run } from '@shardlab/contract';

export const historyFileName = 'claim-verdicts.jsonl';

/** About 10,000 verdicts, which is years of runs. */
const historyBytesMax = 8 * 1024 ** 2;

export interface StoredVerdict
  extends Pick<ClaimResult, 'id' | 'verdict' | 'value' | 'unit' | 'interval' | 'reason'> {
  runId: string;
  scenarioId: string;
  scale: Run['scale'];
  endedAtMs: number;
  /** Git commit of the code that ran; null outside a checkout. */
  commit: string | null;
}

export interface JudgedRun extends Pick<Run, 'id' | 'scale' | 'endedAtMs' | 'claims' | 'environment'> {
  scenarioId: string;
}

export function verdictsOf(run: JudgedRun): StoredVerdict[] {
  return run.claims.map(({ id, verdict, value, unit, interval, reason }) => ({
    id,
    verdict,
    value,
    unit,
    interval,
    reason,
    runId: run.id,
    scenarioId: run.scenarioId,
    scale: run.scale,
    endedAtMs: run.endedAtMs ?? 0,
    commit: run.environment?.commit ?? null,
  }));
}

/** Appends the verdicts of a finished run to the folder's file, which is created if missing. */
export async function appendVerdicts(folder: string, run: Run): Promise<void> {
  const { id: scenarioId } = run.scenario;
  const lines = verdictsOf({ ...run, scenarioId }).map((kept) => `${JSON.stringify(kept)}\n`);
  if (lines.length === 0) return;
  await mkdir(folder, { recursive: true });
  const path = join(folder, historyFileName);
  await appendFile(path, lines.join(''));
  if ((await stat(path)).size > historyBytesMax) await dropOlderHalf(path);
}

/** Oldest first; empty if there is no file yet. Lines truncated by a crash are skipped. */
export async function readVerdicts(folder: string): Promise<StoredVerdict[]> {
  let text: string;
  try {
    text = await readFile(join(folder, historyFileName), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    if (line === '') return [];
    try {
      return [JSON.parse(line) as StoredVerdict];
    } catch {
      return [];
    }
  });
}

async function dropOlderHalf(path: string): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  await writeFile(`${path}.new`, lines.slice(Math.floor(lines.length / 2)).join('\n'));
  await rename(`${path}.new`, path);
}
