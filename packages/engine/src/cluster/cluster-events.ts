import type { ClaimNumber, Epoch, InstanceId, Pid } from '../model/ids.ts';

/** The events of a cluster that concern its operator. */
export type ClusterEventType =
  /** A process now hosts the instance: `role`, `claim`, `epoch`; `tookMs` from the claim until clients are served. */
  | 'lease:acquired'
  /**
   * Another process took the instance over after a failure: `fromPid` is the host before, `killed` whether it still ran, `message` how it
   * had failed; neither if the instance itself failed. `tookMs` since that was noticed.
   */
  | 'instance:taken-over'
  /** Another process hosts the instance because its own was stopped, or is being removed, in order; `tookMs` since that was noticed. */
  | 'instance:moved'
  /** The failover host returned the instance to its owner: `toPid`; `tookMs` for closing it. */
  | 'instance:returned'
  /** The host closed the instance in order; no process hosts it yet. */
  | 'instance:released'
  /** The host found that another process has claimed the instance. */
  | 'instance:fenced'
  /** The instance failed, or could not be opened: `code`, `message`. */
  | 'instance:failed'
  /** The instance cannot be served, so another process will take it over: `code`, `message`. */
  | 'instance:unhealthy'
  /** A scrub found damage of stored data: `message`. */
  | 'instance:damaged'
  /** Messages of a nonpersistent queue ended with the host before: `message` says how many of which queue. */
  | 'messages:lost'
  /** The instance cannot be taken over, because its host cannot be killed: `fromPid`. */
  | 'takeover:blocked'
  | 'instance:added'
  | 'instance:removed'
  /** A removed instance is empty and no longer a member. */
  | 'instance:deregistered'
  | 'process:started'
  /** `exitCode` or `signal`. */
  | 'process:ended'
  /** After an unrequested exit the process is restarted in `inMs`; `code` and `message` give the reason of the exit. */
  | 'process:restarting'
  /** The processes of the instance keep exiting, and no other process hosts it: `code`, `message`, `attempts`. */
  | 'process:given-up'
  /** The event loop of the process has made no turn for over a second: `tookMs` so far. It is not ready, and is not killed for that. */
  | 'process:slow'
  /** It makes turns again; `tookMs`: the longest time without one. */
  | 'process:responsive'
  /** The process is stopped by a signal, has made no turn for 30 s or cannot serve, and is killed by its supervisor: `code`, `message`. */
  | 'process:hung'
  | 'process:paused'
  | 'process:resumed';

export interface ClusterEvent {
  type: ClusterEventType;
  /** Epoch milliseconds. */
  atMs: number;
  instance: InstanceId;
  /** Process in which it happened. */
  pid: Pid;
  role?: 'owner' | 'failover';
  claim?: ClaimNumber;
  epoch?: Epoch;
  fromPid?: Pid;
  toPid?: Pid;
  killed?: boolean;
  tookMs?: number;
  code?: string;
  message?: string;
  /** Number of consecutive processes that exited soon. */
  attempts?: number;
  inMs?: number;
  exitCode?: number;
  signal?: string;
}
