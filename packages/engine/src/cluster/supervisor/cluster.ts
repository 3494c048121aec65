/** The public shapes of a cluster of processes that one process supervises. */
import type { WaitStats } from '../../core/waits.ts';
import type { InstanceOptions, InstanceStats } from '../../types.ts';
import type { ClusterEvent } from '../cluster-events.ts';

export interface ClusterOptions extends Omit<InstanceOptions, 'instance'> {
  /**
   * How many instances, 1 to 64; default: as many as the folder's cluster has, or 1. Surplus ones of an earlier time are
   * removed as `remove` does.
   */
  instances?: number;
  /** An instance whose writer thread has not answered for this long gives up its lease, ms, 100 to 60,000; default 5,000. */
  writerSilentMsMax?: number;
  /** Node's flags for the processes of the instances; default none. */
  execArgv?: string[];
  /** Told of all that happens, in all processes. */
  onEvent?(event: ClusterEvent): void;
}

export interface InstanceTopology {
  instance: number;
  /** `up`: hosted by its own process; `hosted`: by another one, as its guest; `down`: by none at the moment. */
  state: 'up' | 'hosted' | 'down';
  /** Removed, and served until it is empty. */
  leaving: boolean;
  /** Its own process. */
  process: { pid: number; state: 'starting' | 'running' | 'paused' | 'ending' } | null;
  /** The process that hosts it, and which instance that process is for; null if that is none of this cluster's. */
  host: { pid: number; instance: number | null } | null;
  /** Raised with every opening of the instance; 0 while it is being opened. */
  epoch: number;
  lease: { claim: number; expiresInMs: number } | null;
}

export interface ProcessStats {
  /** The instance that the process is for. */
  instance: number;
  pid: number;
  /** CPU time of the whole process since it started, microseconds. */
  cpuUs: number;
  rssBytes: number;
  /** Of all that it hosts; `cpu.sessionUs` is of the one thread that runs the sessions of all of them. */
  hosted: { stats: InstanceStats; waits: WaitStats[] }[];
}

export interface Cluster {
  readonly dir: string;
  topology(): InstanceTopology[];
  /** The newest 200, oldest first. */
  events(): ClusterEvent[];
  /** One entry for each process that answers within a second. */
  stats(): Promise<ProcessStats[]>;
  /** Sends a signal to the instance's own process, by default SIGKILL. Throws `INSTANCE_NOT_FOUND`, `PROCESS_NOT_RUNNING`. */
  kill(instance: number, signal?: NodeJS.Signals): void;
  /** Stops the process as it is (SIGSTOP): its lease lapses, and a survivor ends it and takes over. */
  pause(instance: number): void;
  resume(instance: number): void;
  /** Ends the instance's own process in order; another one serves the instance at once. Throws as `kill`. */
  stop(instance: number): Promise<void>;
  /** Starts the instance's own process, which gets it back. Throws `INSTANCE_NOT_FOUND`, `PROCESS_RUNNING`, and what opening throws. */
  start(instance: number): Promise<void>;
  /** Adds an instance, new or one that is about to leave, and starts its process; returns its number. Throws `OPTIONS_INVALID`. */
  add(): Promise<number>;
  /**
   * Removes an instance: it takes no messages any more; another process serves what it holds, and forgets it once that is
   * consumed. Throws `INSTANCE_NOT_FOUND`, and `OPTIONS_INVALID` for the last running one.
   */
  remove(instance: number): Promise<void>;
  /** Adds instances, or removes those of the highest numbers, until so many are left that stay. */
  resize(instances: number): Promise<void>;
  /** Ends all processes in order. */
  close(): Promise<void>;
}
