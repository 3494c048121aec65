/** What a process under torture is told to do. */
import type { SelfKillPlan } from './self-kill.ts';

export interface WorkerTask {
  dir: string;
  /** The instance to host. */
  instance?: number;
  /** Or those of a cluster to work on as a client. */
  connectTo?: number[];
  /** Tells the process from all others of the folder. */
  life: string;
  seed: number;
  actors: string[];
  selfKill?: SelfKillPlan;
}

/** Small ones, so that they are truncated all the time. */
export const partitionMessagesMax = 40;
