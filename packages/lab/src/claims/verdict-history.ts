/**
 * What runs said about the claims, one verdict a line, oldest first: those of the command line and those of a server on the
 * same data folder. Lines are only added, so that runs at the same time keep each other's; past its bound the file loses
 * its older half.
 */
import { appendFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClaimResult, Run } from '@shardlab/contract';

export const historyFileName = 'claim-verdicts.jsonl';

/** Some 10,000 verdicts: years of runs. */
const historyBytesMax = 8 * 1024 ** 2;

export interface KeptVerdict
  extends Pick<ClaimResult, 'id' | 'verdict' | 'value' | 'unit' | 'interval' | 'reason'> {
  runId: string;
  scenarioId: string;
  scale: Run['scale'];
  endedAtMs: number;
  /** Of the code that ran; null if it was not in a checkout. */
  commit: string | null;
}

export interface JudgedRun extends Pick<Run, 'id' | 'scale' | 'endedAtMs' | 'claims' | 'environment'> {
  scenarioId: string;
}

export function verdictsOf(run: JudgedRun): KeptVerdict[] {
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

/** Adds the verdicts of a run that is done to the folder's file, which is made if it is missing. */
export async function keepVerdicts(folder: string, run: Run): Promise<void> {
  const { id: scenarioId } = run.scenario;
  const lines = verdictsOf({ ...run, scenarioId }).map((kept) => `${JSON.stringify(kept)}\n`);
  if (lines.length === 0) return;
  await mkdir(folder, { recursive: true });
  const path = join(folder, historyFileName);
  await appendFile(path, lines.join(''));
  if ((await stat(path)).size > historyBytesMax) await dropOlderHalf(path);
}

/** Oldest first; empty if nothing was kept yet. A line that was cut off by a crash is passed over. */
export async function readVerdicts(folder: string): Promise<KeptVerdict[]> {
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
      return [JSON.parse(line) as KeptVerdict];
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
