import type { ClaimNumber, Epoch, InstanceId, Pid } from '../model/ids.ts';

/** The events of a cluster that concern its operator. */
export type ClusterEventType =
  /** A process now hosts the instance: `role`, `claim`, `epoch`; `tookMs` from the claim until clients are served. */
  | 'lease:acquired'
  /** Another process took the instance over: `fromPid` is the host before, `killed` whether it still ran; `tookMs` since the loss was noticed. */
  | 'instance:taken-over'
  /** The failover host returned the instance to its owner: `toPid`; `tookMs` for closing it. */
  | 'instance:returned'
  /** The host closed the instance in order; no process hosts it yet. */
  | 'instance:released'
  /** The host found that another process has claimed the instance. */
  | 'instance:fenced'
  /** The instance failed, or could not be opened: `code`, `message`. */
  | 'instance:failed'
  /** The instance does not renew its lease, so it will be taken over: `code`, `message`. */
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
  /** The process did not renew its lease, or claimed no instance, and is killed by its supervisor: `code`, `message`. */
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
