/** What the torture plays on: one data folder from its first process to the last look into it. Add one to `index.ts`. */
import type { Ledger, LedgerTotals } from '../ledger.ts';
import type { Life } from '../life.ts';
import type { Random } from '../random.ts';

export interface StageOptions {
  /** Made and empty. */
  dir: string;
  random: Random;
  /** Names of the loads to choose from. */
  actorNames: readonly string[];
  onKill(phase: string): void;
  /** After each look into the folder: what was done since the one before, and what was wrong. */
  onChecked(totals: LedgerTotals): void;
  isDone(): boolean;
}

export interface Stage {
  name: string;
  /** Whether it has use for a load. */
  plays(actorName: string): boolean;
  /** Resolves when all of its processes have ended. */
  run(options: StageOptions): Promise<void>;
}

/** What processes that have ended told, in the order of its time. */
export function noteAll(ledger: Ledger, lives: readonly { life: Life; name: string }[]): void {
  const told = lives.flatMap(({ life, name }) => life.notes().map((note) => ({ ...note, name })));
  const ends = lives.flatMap(({ life: { endedAtNs: atNs } }) =>
    atNs === undefined ? [] : [{ atNs, note: undefined, name: '' }],
  );
  const all = [...told, ...ends].sort((a, b) => (a.atNs < b.atNs ? -1 : a.atNs > b.atNs ? 1 : 0));
  for (const { note, name } of all) {
    if (note === undefined) ledger.ended();
    else ledger.take(note, name);
  }
}
