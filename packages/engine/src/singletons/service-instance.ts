/** What singleton services need of the instance that has them, and what they share with their sessions. */
import type { ServiceSession } from '../api/service.ts';
import type { ServiceTenureRow } from '../model/service-rows.ts';

/** The last committed state of a service: JSON, undefined before the first. */
export interface ServiceState {
  readonly name: string;
  readonly epoch: number;
  text: string | undefined;
}

/** What services need of the instance. */
export interface ServiceInstance {
  readonly instance: number;
  readonly epoch: number;
  /** The process that hosts it, and the instance that this process belongs to. */
  readonly holder: { pid: number; instance: number };
  openSession(state: ServiceState): ServiceSession;
  /** Resolves when the row is on disk. Rejects with the storage errors, `INSTANCE_FENCED`. */
  writeTenure(row: ServiceTenureRow): Promise<void>;
  /** Throws why the instance must not be served from here at the moment. */
  assertServing(): void;
}
