/** A setup of the torture test: one data folder, from its first process to the last inspection. Setups are listed in `index.ts`. */
import type { Ledger, LedgerTotals } from '../ledger.ts';
import type { Random } from '../random.ts';
import type { TortureProcess } from '../torture-process.ts';

export interface SetupOptions {
  /** An existing, empty folder. */
  dir: string;
  random: Random;
  /** Names of the workloads to choose from. */
  workloadNames: readonly string[];
  onKill(phase: string): void;
  /** Called after each inspection with the work and the faults since the previous one. */
  onChecked(totals: LedgerTotals): void;
  isDone(): boolean;
}

export interface TortureSetup {
  name: string;
  /** Whether the setup can run a workload. */
  supports(workloadName: string): boolean;
  /** Resolves when all processes of the setup have ended. */
  run(options: SetupOptions): Promise<void>;
}

/** Passes the notes of ended processes to the ledger, in order of time. */
export function recordAllNotes(
  ledger: Ledger,
  processes: readonly { process: TortureProcess; name: string }[],
): void {
  const notes = processes.flatMap(({ process, name }) => process.notes().map((note) => ({ ...note, name })));
  const ends = processes.flatMap(({ process: { endedAtNs: atNs } }) =>
    atNs === undefined ? [] : [{ atNs, note: undefined, name: '' }],
  );
  const all = [...notes, ...ends].sort((a, b) => (a.atNs < b.atNs ? -1 : a.atNs > b.atNs ? 1 : 0));
  for (const { note, name } of all) {
    if (note === undefined) ledger.recordProcessEnd();
    else ledger.recordNote(note, name);
  }
}
