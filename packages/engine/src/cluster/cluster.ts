/** The public shapes of a cluster of processes that one process supervises. */

import type { QueueError } from '../api/errors.ts';
import type { Instance, InstanceOptions } from '../api/instance.ts';
import type { InstanceStats } from '../api/instance-stats.ts';
import type { Json } from '../api/service.ts';
import type { WaitStats } from '../api/waits.ts';
import type { ClaimNumber, Epoch, InstanceId, Pid } from '../model/ids.ts';
import type { ClusterEvent } from './cluster-events.ts';

export interface ClusterOptions extends Omit<InstanceOptions, 'instance'> {
  /**
   * Number of instances, 1 to 64; default: as many as the folder's cluster has, or 1. Surplus instances are removed as
   * `remove` does.
   */
  instances?: number;
  /** An instance whose writer has not answered for this long is hosted by another process, ms, 100 to 60,000; default 30,000. */
  writerSilentMsMax?: number;
  /** Node's flags for the processes of the instances; default none. */
  execArgv?: string[];
  /**
   * Whether processes are restarted after an unrequested exit, after a pause that doubles; default true. With false the caller
   * decides which processes run.
   */
  restart?: boolean;
  /** An extension that each process runs beside its instance; default none. */
  extension?: ProcessExtensionSpec;
  /** Receives the events of all processes. */
  onEvent?(event: ClusterEvent): void;
  /**
   * Called when the cluster cannot be kept running, and the program should exit: `PROCESS_RESTARTS_EXHAUSTED` if the processes of
   * an instance keep exiting and no other process hosts it, `CLUSTER_DEPOSED` if another process runs the cluster of this folder.
   */
  onUnrecoverable?(error: QueueError): void;
}

/**
 * The module is loaded before the process opens its instance, and the extension starts once the instance is served. If either
 * fails the process exits, like one that cannot open its instance.
 */
export interface ProcessExtensionSpec {
  /** File URL of a module that exports `createExtension`. */
  module: string;
  /** Passed to it. */
  options: Json;
}

/** The type of the function that an extension's module exports as `createExtension`. */
export type CreateProcessExtension = (
  host: ProcessHost,
  options: Json,
) => ProcessExtension | Promise<ProcessExtension>;

export interface ProcessExtension {
  /** Called before the process closes its instances, not if it is killed. Counts towards the 30 s that closing may take. */
  close(): Promise<void>;
}

/** The process of an instance, as an extension sees it. */
export interface ProcessHost {
  /** Folder of the cluster. */
  readonly dir: string;
  /** The instance that the process is for. */
  readonly instance: InstanceId;
  /** The instances that the process hosts and that accept messages, its own first: failover changes them. */
  hosted(): readonly Instance[];
}

export interface InstanceTopology {
  instance: InstanceId;
  /** `up`: hosted by its own process; `failed-over`: by another process; `down`: by none at the moment. */
  state: 'up' | 'failed-over' | 'down';
  /** Removed from the cluster, but served until it is empty. */
  leaving: boolean;
  /** The instance's own process. */
  process: { pid: Pid; state: 'starting' | 'running' | 'paused' | 'ending' } | null;
  /** Set from an unrequested exit of the process until the next one serves. */
  restart: ProcessRestart | null;
  /**
   * The process that hosts it, and the instance that the process belongs to; null for a process outside this cluster.
   * `unresponsiveMs`: for how long its event loop has made no turn, if that is a second or more; null while it is responsive.
   */
  host: { pid: Pid; instance: InstanceId | null; unresponsiveMs: number | null } | null;
  /** Raised with every opening of the instance; 0 while it is being opened. */
  epoch: Epoch;
  /** `expiresInMs`: until the process counts as silent, unless it gives another sign of life. */
  lease: { claim: ClaimNumber; expiresInMs: number } | null;
}

export interface ProcessRestart {
  /** Processes in a row that could not open the instance, or served for a moment only. */
  attempts: number;
  /** Until the next process is started, milliseconds; 0 while one starts, null if the supervisor gave up. */
  inMs: number | null;
  /** Why the last process ended: the code of its error, or `PROCESS_NOT_RUNNING` with the signal or exit code. */
  code: string;
  message: string;
}

export interface ProcessStats {
  /** The instance that the process is for. */
  instance: InstanceId;
  pid: Pid;
  /** CPU time of the whole process since it started, microseconds. */
  cpuUs: number;
  rssBytes: number;
  /** The instances that the process hosts. One thread runs the sessions of all: `cpu.sessionUs` is the same in each. */
  hosted: { stats: InstanceStats; waits: WaitStats[] }[];
}

export interface Cluster {
  readonly dir: string;
  topology(): InstanceTopology[];
  /** The newest 200, oldest first. */
  events(): ClusterEvent[];
  /** One entry for each process that answers within a second. */
  stats(): Promise<ProcessStats[]>;
  /**
   * Kills the instance's own process (SIGKILL). It stays down until it is started, or until no other process is left that
   * could host its instance. Throws `INSTANCE_NOT_FOUND`, `PROCESS_NOT_RUNNING`.
   */
  kill(instance: InstanceId): void;
  /**
   * Stops the process as it is (SIGSTOP): about a second later another process kills it and takes over. If that happens it
   * counts as killed by `kill`. Throws as `kill`, also while the process is starting.
   */
  pause(instance: InstanceId): void;
  resume(instance: InstanceId): void;
  /**
   * Ends the instance's own process in order, or a restart of it; another process takes the instance over at once. It stays
   * down until it is started. Throws as `kill`.
   */
  stop(instance: InstanceId): Promise<void>;
  /** Starts the instance's own process, to which the instance returns. Throws `INSTANCE_NOT_FOUND`, `PROCESS_RUNNING`, and what opening throws. */
  start(instance: InstanceId): Promise<void>;
  /** Adds a new instance, or keeps one that is leaving, and starts its process; returns its number. Throws `OPTIONS_INVALID`. */
  add(): Promise<InstanceId>;
  /**
   * Removes an instance: it accepts no more messages; another process serves its backlog and deregisters it once that is
   * consumed. Throws `INSTANCE_NOT_FOUND`, and `OPTIONS_INVALID` for the last running one.
   */
  remove(instance: InstanceId): Promise<void>;
  /** Adds instances, or removes those with the highest numbers, until the cluster has this many. */
  resize(instances: number): Promise<void>;
  /** Ends all processes in order. */
  close(): Promise<void>;
}
