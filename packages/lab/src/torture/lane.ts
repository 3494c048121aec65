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
}

export async function runLane({ parent, stageNames, ...options }: LaneOptions): Promise<void> {
  const choice = stages
    .filter(({ name }) => stageNames?.includes(name) ?? true)
    .map((stage) => ({ stage, actorNames: options.actorNames.filter((name) => stage.plays(name)) }))
    .filter(({ actorNames }) => actorNames.length > 0);
  while (!options.isDone()) {
    const dir = mkdtempSync(join(parent, 'torture-'));
    let faulty = false;
    const { stage, actorNames } = options.random.pick(choice);
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
