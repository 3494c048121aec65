/**
 * Calls of singleton services by name, wherever they are at the moment. A service stays with its preferred instance, so its name is
 * looked up once; the connection to the instance finds the process that hosts it. A call that was not begun is repeated while the
 * service moves; one whose answer was lost is not, since it may have taken effect.
 */

import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import type { RemoteInstance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type { Json } from '../api/service.ts';
import type { InstanceId } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import type { Ports } from '../model/ports.ts';

export interface ServiceCallsOptions {
  servedInstances(): InstanceId[];
  members(): InstanceId[];
  remoteOf(instance: InstanceId): Pick<RemoteInstance, 'services' | 'callService'>;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

/** The call was refused before it began, and may find the service in a moment. */
const notBegun: readonly QueueErrorCode[] = [
  'SERVICE_NOT_ACTIVE',
  'LEASE_LAPSED',
  'INSTANCE_UNREACHABLE',
  'INSTANCE_CLOSED',
  'INSTANCE_FENCED',
  'INSTANCE_FAILED',
];

export class ServiceCalls {
  readonly #options: ServiceCallsOptions;
  readonly #instanceOf = new Map<string, InstanceId>();

  constructor(options: ServiceCallsOptions) {
    this.#options = options;
  }

  async call(name: string, call: string, argument: Json = null): Promise<Json> {
    const { clock, timers } = this.#options.ports;
    const untilMs = clock.monotonicMs() + limits.serviceLookupMsMax;
    for (;;) {
      try {
        const instance = this.#instanceOf.get(name) ?? (await this.#find(name));
        return await this.#options.remoteOf(instance).callService(name, call, argument);
      } catch (error) {
        if (!(error instanceof QueueError)) throw error;
        if (error.code === 'SERVICE_NOT_FOUND' && this.#instanceOf.delete(name)) continue;
        if (!notBegun.includes(error.code) || clock.monotonicMs() >= untilMs) throw error;
      }
      await pause(timers, limits.serviceLookupPauseMs);
    }
  }

  /** Throws `SERVICE_NOT_FOUND` if all instances answer and none has it, else `SERVICE_NOT_ACTIVE`. */
  async #find(name: string): Promise<InstanceId> {
    const { servedInstances, members, remoteOf } = this.#options;
    const served = servedInstances();
    let missing = members().length > served.length;
    const lists = await Promise.all(
      served.map((instance) =>
        remoteOf(instance)
          .services()
          .catch(() => {
            missing = true;
            return [];
          }),
      ),
    );
    const found = lists.flat().find((service) => service.name === name);
    if (found === undefined) {
      throw new QueueError(missing ? 'SERVICE_NOT_ACTIVE' : 'SERVICE_NOT_FOUND', {
        details: { service: name },
      });
    }
    this.#instanceOf.set(name, found.preferred);
    return found.preferred;
  }
}
