/** What a process under torture is told to do. */
import type { SelfKillPlan } from './self-kill.ts';

/** What a load does that moves messages between instances: one process puts them in, another takes them out, or it does both. */
export type Role = 'puts' | 'takes' | 'both';

export interface WorkerTask {
  dir: string;
  /** The instance to host. */
  instance?: number;
  /** Set: the instance is served to the others, and messages move between them. */
  role?: Role;
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
