/** Kills processes at work again and again, and counts what that does to what they acknowledged. */
import { mkdirSync } from 'node:fs';
import { actors } from './actors/index.ts';
import { runLane } from './lane.ts';
import type { Faults, LedgerTotals } from './ledger.ts';
import { Random } from './random.ts';

export interface TortureOptions {
  kills: number;
  seed: number;
  /** Folder for scratch data. */
  dir: string;
  /** Folders at a time; default 2. */
  lanes?: number;
  /** Loads and stages to choose from; all of them by default. */
  actorNames?: readonly string[];
  stageNames?: readonly string[];
  onProgress?(state: TortureState): void;
}

export interface TortureState extends Omit<LedgerTotals, 'faults'> {
  seed: number;
  kills: number;
  killsByPhase: Record<string, number>;
  looks: number;
  faults: Faults;
  elapsedMs: number;
}

export async function runTorture(options: TortureOptions): Promise<TortureState> {
  const { kills, seed, dir, lanes = 2, onProgress } = options;
  mkdirSync(dir, { recursive: true });
  const startedAt = performance.now();
  const random = new Random(seed);
  const state: TortureState = {
    seed,
    kills: 0,
    killsByPhase: {},
    looks: 0,
    commits: 0,
    enqueued: 0,
    consumed: 0,
    faults: { lost: [], doubled: [], damaged: [], outOfOrder: [], torn: [], unknown: [], failed: [] },
    elapsedMs: 0,
  };
  const progress = () => {
    state.elapsedMs = performance.now() - startedAt;
    onProgress?.(state);
  };
  const lane = (first: number) =>
    runLane({
      parent: dir,
      first,
      random: random.fork(),
      actorNames: options.actorNames ?? actors.map(({ name }) => name),
      stageNames: options.stageNames,
      isDone: () => state.kills >= kills || faultCount(state) > 0,
      onKill: (phase) => {
        state.kills += 1;
        state.killsByPhase[phase] = (state.killsByPhase[phase] ?? 0) + 1;
        progress();
      },
      onChecked: (totals) => {
        state.looks += 1;
        add(state, totals);
        progress();
      },
    });
  await Promise.all(Array.from({ length: lanes }, (_, first) => lane(first)));
  return state;
}

export function faultCount({ faults }: Pick<TortureState, 'faults'>): number {
  return Object.values(faults).reduce((sum, each) => sum + each.length, 0);
}

function add(state: TortureState, { commits, enqueued, consumed, faults }: LedgerTotals): void {
  state.commits += commits;
  state.enqueued += enqueued;
  state.consumed += consumed;
  for (const kind of Object.keys(faults) as (keyof Faults)[]) state.faults[kind].push(...faults[kind]);
}
