/** The job and the report of a trial's process for `jetstream-failover` and `jetstream-power-cut`. */
export const faults = ['none', 'kill', 'pause', 'partition'] as const;
export const powerCuts = ['all', 'one'] as const;
export type PowerCut = `power-cut-${(typeof powerCuts)[number]}`;
export type Fault = (typeof faults)[number] | PowerCut;

export const isPowerCut = (fault: Fault): fault is PowerCut => fault.startsWith('power-cut-');

export interface FailoverJob {
  dir: string;
  fault: Fault;
  /** Whether the servers sync before they acknowledge. */
  synced: boolean;
  /** How long each server is faulty, ms; without a fault, a third of the measured time. With a power cut, the length of each part. */
  faultMs: number;
  sessions: number;
}

export interface FailoverResult {
  acknowledged: number;
  consumed: number;
  /** Commits whose outcome the session did not learn. */
  unknown: number;
  /** Acknowledged, and neither consumed nor of an unknown consumption. */
  lost: number;
  /** Consumptions that were confirmed twice. */
  doubled: number;
  /** Still in the queue at the end. */
  left: number;
  /** Longest time without an acknowledged enqueue, ms. */
  gapMs: number;
  measuredMs: number;
}
