/** The torture test: kills processes repeatedly and judges the histories of their clients. */
import { mkdirSync } from 'node:fs';
import type { TortureTotals } from './processes/folder-history.ts';
import { Random } from './processes/random.ts';
import { runTortureLoop } from './torture-loop.ts';
import { workloads } from './workloads/index.ts';

export interface TortureOptions {
  kills: number;
  seed: number;
  /** Folder for scratch data. */
  dir: string;
  /** Number of data folders tested concurrently; default 2. */
  concurrency?: number;
  /** Workloads and setups to choose from; all by default. */
  workloadNames?: readonly string[];
  setupNames?: readonly string[];
  onProgress?(state: TortureState): void;
}

export interface TortureState extends TortureTotals {
  seed: number;
  kills: number;
  killsByPhase: Record<string, number>;
  checks: number;
  elapsedMs: number;
}

export async function runTorture(options: TortureOptions): Promise<TortureState> {
  const { kills, seed, dir, concurrency = 2, onProgress } = options;
  mkdirSync(dir, { recursive: true });
  const startedAt = performance.now();
  const random = new Random(seed);
  const state: TortureState = {
    seed,
    kills: 0,
    killsByPhase: {},
    checks: 0,
    commits: 0,
    enqueued: 0,
    consumed: 0,
    violations: [],
    failed: [],
    elapsedMs: 0,
  };
  const progress = () => {
    state.elapsedMs = performance.now() - startedAt;
    onProgress?.(state);
  };
  const startLoop = (firstSetupIndex: number) =>
    runTortureLoop({
      parent: dir,
      firstSetupIndex,
      random: random.fork(),
      workloadNames: options.workloadNames ?? workloads.map(({ name }) => name),
      setupNames: options.setupNames,
      isDone: () => state.kills >= kills || faultCount(state) > 0,
      onKill: (phase) => {
        state.kills += 1;
        state.killsByPhase[phase] = (state.killsByPhase[phase] ?? 0) + 1;
        progress();
      },
      onChecked: (totals) => {
        state.checks += 1;
        add(state, totals);
        progress();
      },
    });
  await Promise.all(Array.from({ length: concurrency }, (_, index) => startLoop(index)));
  return state;
}

/** Histories that are illegal, and processes that failed. */
export function faultCount({ violations, failed }: Pick<TortureState, 'violations' | 'failed'>): number {
  return violations.length + failed.length;
}

function add(state: TortureState, { commits, enqueued, consumed, violations, failed }: TortureTotals): void {
  state.commits += commits;
  state.enqueued += enqueued;
  state.consumed += consumed;
  state.violations.push(...violations);
  state.failed.push(...failed);
}
