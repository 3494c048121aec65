/** The task of a process under test. */
import type { SelfKillPlan } from './self-kill.ts';

/** The role of a process in a workload with forwarding. */
export type Role = 'enqueue' | 'dequeue' | 'both';

export interface WorkerTask {
  dir: string;
  /** The instance to host. */
  instance?: number;
  /** If set, the instance is served to the others, and messages are forwarded between them. */
  role?: Role;
  /** Alternatively: the instances of a cluster to use as a client. */
  connectTo?: number[];
  /** Unique among all processes of the folder. */
  processName: string;
  seed: number;
  workloads: string[];
  selfKill?: SelfKillPlan;
}

/** Small partitions, so that truncation is frequent. */
export const partitionMessagesMax = 40;
