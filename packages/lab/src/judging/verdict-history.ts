/**
 * All verdicts about the claims, one per line, oldest first: those of the command line and those of a server on the same
 * data folder. Lines are only appended, so that concurrent runs do not overwrite each other. When the file exceeds its
 * limit, the older half is dropped.
 */
import { appendFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClaimResult, findFaults, type Run, Scale } from '@shardlab/contract';
import Type from 'typebox';

export const historyFileName = 'claim-verdicts.jsonl';

/** About 10,000 verdicts, which is years of runs. */
const historyBytesMax = 8 * 1024 ** 2;

export interface StoredVerdict extends Omit<ClaimResult, 'title' | 'document' | 'grade' | 'weak'> {
  runId: string;
  scenarioId: string;
  scale: Run['scale'];
  endedAtMs: number;
  /** Trials of the run: the points times their repeats; 0 for verdicts that were stored without it. */
  trials: number;
  /** Git commit of the code that ran; null outside a checkout. */
  commit: string | null;
}

const { title: _title, document: _document, grade: _grade, weak: _weak, ...judged } = ClaimResult.properties;

/** A line of the file. Other fields are of other versions. */
const Line = Type.Object({
  ...judged,
  runId: Type.String(),
  scenarioId: Type.String(),
  scale: Scale,
  endedAtMs: Type.Integer(),
  trials: Type.Optional(Type.Integer()),
  commit: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

export interface JudgedRun
  extends Pick<Run, 'id' | 'scale' | 'endedAtMs' | 'progress' | 'claims' | 'environment'> {
  scenarioId: string;
}

export function verdictsOf(run: JudgedRun): StoredVerdict[] {
  return run.claims.map(({ title: _title, document: _document, grade: _grade, weak: _weak, ...judged }) => ({
    ...judged,
    runId: run.id,
    scenarioId: run.scenarioId,
    scale: run.scale,
    endedAtMs: run.endedAtMs ?? 0,
    trials: run.progress.done,
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

/** Lines that are read in one turn of the event loop: about 2 ms. A server shares its thread with its queues. */
const linesPerTurn = 20;

/**
 * Oldest first; empty if there is no file yet. Lines that do not fit are skipped: those that a crash truncated or that are damaged, and
 * those of versions that judged by other rules (their lines have no clauses). `onDamage` is told how many there are. Other work runs in
 * between.
 */
export async function readVerdicts(
  folder: string,
  onDamage: (sentence: string) => void = () => undefined,
): Promise<StoredVerdict[]> {
  let text: string;
  try {
    text = await readFile(join(folder, historyFileName), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const verdicts: StoredVerdict[] = [];
  let lines = 0;
  let skipped = 0;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const verdict = parseLine(text.slice(start, end));
    if (verdict !== undefined) verdicts.push(verdict);
    else if (end > start) skipped += 1;
    start = end + 1;
    lines += 1;
    if (lines % linesPerTurn === 0) await nextTurn();
  }
  if (skipped > 0) onDamage(`${historyFileName}: ${skipped} of ${lines} lines do not fit and are left out`);
  return verdicts;
}

function parseLine(line: string): StoredVerdict | undefined {
  if (line === '') return undefined;
  try {
    const verdict = JSON.parse(line) as Omit<StoredVerdict, 'trials' | 'commit'> & Partial<StoredVerdict>;
    const isFit = findFaults(Line, verdict).faults.every(({ keyword }) => keyword === 'additionalProperties');
    return isFit ? { ...verdict, trials: verdict.trials ?? 0, commit: verdict.commit ?? null } : undefined;
  } catch {
    return undefined;
  }
}

async function dropOlderHalf(path: string): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  await writeFile(`${path}.new`, lines.slice(Math.floor(lines.length / 2)).join('\n'));
  await rename(`${path}.new`, path);
}
