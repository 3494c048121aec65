/** A setup of the torture test: one data folder, from its first process to the last inspection. Setups are listed in `index.ts`. */
import type { TortureTotals } from '../processes/folder-history.ts';
import type { Random } from '../processes/random.ts';

export interface SetupOptions {
  /** An existing, empty folder. */
  dir: string;
  random: Random;
  /** Names of the workloads to choose from. */
  workloadNames: readonly string[];
  onKill(phase: string): void;
  /** Called after each inspection with the work and the faults since the previous one. */
  onChecked(totals: TortureTotals): void;
  isDone(): boolean;
}

export interface TortureSetup {
  name: string;
  /** Whether the setup can run a workload. */
  supports(workloadName: string): boolean;
  /** Resolves when all processes of the setup have ended. */
  run(options: SetupOptions): Promise<void>;
}
