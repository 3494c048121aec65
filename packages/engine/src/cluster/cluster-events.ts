/** What happens in a cluster that its operator may want to see. */
export type ClusterEventType =
  /** A process hosts the instance from now on: `role`, `claim`, `epoch`, `tookMs` from the claim until it serves. */
  | 'lease:taken'
  /** A survivor hosts it: `fromPid` if a process had it, `killed` if that one still ran, `tookMs` since it was missed. */
  | 'instance:taken-over'
  /** Its own process has it again: `toPid`, `tookMs` from the recall until it was free. */
  | 'instance:given-back'
  /** The host let go of it in order, and nobody has it yet. */
  | 'instance:released'
  /** The host found out that another process has it. */
  | 'instance:fenced'
  /** It stopped, or could not be opened: `code`, `message`. */
  | 'instance:failed'
  /** Another process should be ended before its instance is taken, and cannot be: `fromPid`. */
  | 'takeover:blocked'
  | 'instance:added'
  | 'instance:removed'
  /** A removed instance is empty: nobody serves it any more. */
  | 'instance:forgotten'
  | 'process:started'
  /** `exitCode` or `signal`. */
  | 'process:ended'
  | 'process:paused'
  | 'process:resumed';

export interface ClusterEvent {
  type: ClusterEventType;
  /** Epoch milliseconds. */
  atMs: number;
  instance: number;
  /** Of the process that it happened in. */
  pid: number;
  role?: 'home' | 'guest';
  claim?: number;
  epoch?: number;
  fromPid?: number;
  toPid?: number;
  killed?: boolean;
  tookMs?: number;
  code?: string;
  message?: string;
  exitCode?: number;
  signal?: string;
}
