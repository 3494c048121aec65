/** Rows of an instance's file about the singleton services that are active where the instance is hosted. */
import type { Epoch, InstanceId, Pid, TenureNumber } from './ids.ts';

/** The state of a service as of its last commit. The key is its name. */
export interface ServiceStateRow {
  name: string;
  /** The epoch under which it was written. */
  epoch: Epoch;
  /** JSON. */
  state: string;
}

/** One activation of a service. Its key is the name and the number. */
export interface ServiceTenureRow {
  name: string;
  /** Activations of the service, from 1. */
  number: TenureNumber;
  epoch: Epoch;
  /** The process, and the instance that it belongs to. */
  pid: Pid;
  host: InstanceId;
  /** Epoch ms. */
  activatedAtMs: number;
  /** Epoch ms; 0 until it is deactivated in order, so it stays 0 if the process was killed. */
  deactivatedAtMs: number;
}

export interface RecoveredServices {
  states: ServiceStateRow[];
  /** Tenures ordered by name and number. */
  tenures: ServiceTenureRow[];
}
