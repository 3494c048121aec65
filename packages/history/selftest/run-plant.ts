/** Runs a workload on the engine with a bug planted, in processes that are killed and started again, and judges its history. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  checkHistory,
  openHistoryFile,
  parseHistory,
  Recorder,
  type Verdict,
  type Violation,
  type ViolationKind,
} from '../src/index.ts';
import { Chance } from './chance.ts';
import { applyEdits, type SourceEdit } from './source-edit.ts';
import type { WorkerTask } from './worker.ts';
import { type Workload, type WorkloadName, workloads } from './workloads.ts';

export interface PlantRun {
  edits: readonly SourceEdit[];
  workload: WorkloadName;
  seed: number;
  /** The run ends early once the checker finds a violation of one of these kinds. */
  kinds: readonly ViolationKind[];
  /** The number of processes that are started, one after the other. */
  roundsMax: number;
}

export interface PlantResult {
  verdict: Verdict;
  /** Undefined if no violation of an expected kind was found. */
  found: Violation | undefined;
  rounds: number;
  /** The reason of each process that failed. */
  failures: string[];
}

const hook = fileURLToPath(new URL('plant-hook.ts', import.meta.url));
const worker = fileURLToPath(new URL('worker.ts', import.meta.url));
const hungMs = 60_000;

export async function runPlant({ edits, workload, seed, kinds, roundsMax }: PlantRun): Promise<PlantResult> {
  assertFit(edits);
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-selftest-'));
  const history = join(dir, 'history.jsonl');
  const file = openHistoryFile(history);
  const recorder = new Recorder({ process: 'parent', write: file.write });
  const chance = new Chance(seed);
  const failures: string[] = [];
  try {
    for (let round = 1; ; round += 1) {
      const { kills = false }: Workload = workloads[workload];
      const isKilled = kills && round % 2 === 1;
      const task: WorkerTask = {
        dir: join(dir, 'data'),
        history,
        workload,
        processName: `w${round}`,
        seed: chance.below(2 ** 31),
        isSound: edits.length === 0,
        ...(isKilled && { killAtCommit: 20 + chance.below(60) }),
      };
      const failure = await runWorker(task, edits);
      if (failure !== undefined) failures.push(failure);
      recorder.note({ type: 'kill', of: [task.processName] });
      if (!isKilled || round >= roundsMax) {
        const verdict = checkHistory(parseHistory(readFileSync(history, 'utf8')));
        const found = verdict.violations.find(({ kind }) => kinds.includes(kind));
        if (found !== undefined || round >= roundsMax) return { verdict, found, rounds: round, failures };
      }
    }
  } finally {
    file.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Throws unless every edit can be made. Without this check an edit of a missing file would be ignored, and no bug planted. */
function assertFit(edits: readonly SourceEdit[]): void {
  for (const [file, ofFile] of Map.groupBy(edits, (edit) => edit.file))
    applyEdits(readFileSync(new URL(`../../engine/src/${file}`, import.meta.url), 'utf8'), ofFile);
}

/** Resolves with why the process failed; undefined if it ended by itself or was killed as planned. */
async function runWorker(task: WorkerTask, edits: readonly SourceEdit[]): Promise<string | undefined> {
  const child = spawn(process.execPath, ['--import', hook, worker, JSON.stringify(task)], {
    // NODE_OPTIONS may preload a hook that redirects imports to bundles; the edits are made to the sources, so it is cleared.
    env: { ...process.env, NODE_OPTIONS: '', SHARDLAB_PLANT: JSON.stringify(edits) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), hungMs);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  if (code === 0 || (signal === 'SIGKILL' && task.killAtCommit !== undefined)) return undefined;
  return errors.trim() === '' ? `ended with ${signal ?? code}` : errors.trim();
}
