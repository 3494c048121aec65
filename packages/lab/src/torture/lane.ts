/** One data folder after the other, each the stage of something else. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { hasFaults, type LedgerTotals, totalsOfFailure } from './ledger.ts';
import { stages } from './stages/index.ts';
import type { StageOptions } from './stages/stage.ts';

export interface LaneOptions extends Omit<StageOptions, 'dir'> {
  /** Folders are made in it; one with faults is kept, to be looked into. */
  parent: string;
  /** Names of stages to play on; all of them by default. */
  stageNames?: readonly string[] | undefined;
  /** Index of the stage to begin with; the others follow in turn, so that a few hundred kills come to every one. */
  first: number;
}

export async function runLane({ parent, stageNames, first, ...options }: LaneOptions): Promise<void> {
  const choice = stages
    .filter(({ name }) => stageNames?.includes(name) ?? true)
    .map((stage) => ({ stage, actorNames: options.actorNames.filter((name) => stage.plays(name)) }))
    .filter(({ actorNames }) => actorNames.length > 0);
  for (let turn = first; !options.isDone(); turn += 1) {
    const dir = mkdtempSync(join(parent, 'torture-'));
    let faulty = false;
    const { stage, actorNames } = choice[turn % choice.length]!;
    const onChecked = (totals: LedgerTotals) => {
      faulty ||= hasFaults(totals);
      options.onChecked(totals);
    };
    try {
      await stage.run({ ...options, actorNames, dir, onChecked });
    } catch (error) {
      const text = `${dir}, ${stage.name}: ${(error as Error).stack ?? String(error)}`;
      onChecked(totalsOfFailure(text));
    }
    if (!faulty) rmSync(dir, { recursive: true, force: true });
  }
}
