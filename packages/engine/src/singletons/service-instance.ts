/** The parts of an instance that its singleton services use, and the state that they share with their sessions. */

import type { ServiceSession } from '../api/service.ts';
import type { Epoch, InstanceId, Pid } from '../model/ids.ts';
import type { ServiceTenureRow } from '../model/service-rows.ts';

/** The last committed state of a service: JSON, undefined before the first. */
export interface ServiceState {
  readonly name: string;
  readonly epoch: Epoch;
  text: string | undefined;
}

/** The parts of the instance that services use. */
export interface ServiceInstance {
  readonly instance: InstanceId;
  readonly epoch: Epoch;
  /** The process that hosts it, and the instance that this process belongs to. */
  readonly holder: { pid: Pid; instance: InstanceId };
  /** `open` has the session until it is closed. */
  openSession(state: ServiceState, open: Set<ServiceSession>): ServiceSession;
  /** Resolves when the row is on disk. Rejects with the storage errors, `INSTANCE_FENCED`. */
  writeTenure(row: ServiceTenureRow): Promise<void>;
  /** Throws why the instance must not be served from here at the moment. */
  assertServing(): void;
}
