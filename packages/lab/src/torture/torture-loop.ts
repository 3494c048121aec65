/** Tests one data folder after another, each with the next setup. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TortureTotals, totalsOfFailure } from './processes/folder-history.ts';
import { setups } from './setups/index.ts';
import type { SetupOptions } from './setups/setup.ts';

export interface TortureLoopOptions extends Omit<SetupOptions, 'dir'> {
  /** The folder in which data folders are created. Folders with faults are kept for inspection. */
  parent: string;
  /** Names of the setups to use; all by default. */
  setupNames?: readonly string[] | undefined;
  /** Index of the first setup; the others follow in turn, so that a few hundred kills use all of them. */
  firstSetupIndex: number;
}

export async function runTortureLoop({
  parent,
  setupNames,
  firstSetupIndex,
  ...options
}: TortureLoopOptions): Promise<void> {
  const choice = setups
    .filter(({ name }) => setupNames?.includes(name) ?? true)
    .map((setup) => ({ setup, supportedNames: options.workloadNames.filter((name) => setup.supports(name)) }))
    .filter(({ supportedNames }) => supportedNames.length > 0);
  for (let turn = firstSetupIndex; !options.isDone(); turn += 1) {
    const dir = mkdtempSync(join(parent, 'torture-'));
    let faulty = false;
    const { setup, supportedNames } = choice[turn % choice.length]!;
    const onChecked = (totals: TortureTotals) => {
      faulty ||= totals.violations.length + totals.failed.length > 0;
      options.onChecked(totals);
    };
    try {
      await setup.run({ ...options, workloadNames: supportedNames, dir, onChecked });
    } catch (error) {
      const text = `${dir}, ${setup.name}: ${(error as Error).stack ?? String(error)}`;
      onChecked(totalsOfFailure(text));
    }
    if (!faulty) rmSync(dir, { recursive: true, force: true });
  }
}
