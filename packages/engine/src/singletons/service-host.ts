/**
 * The singleton services of an instance, while this process hosts it. The services follow the instance: there is no second lease.
 * At most one process is active because at most one hosts the instance: the previous host was dead or had closed it before this
 * one opened it, and each commit compares the epoch.
 */
import { QueueError } from '../api/errors.ts';
import type { Json, ServiceInfo, ServiceSpec, SingletonService } from '../api/service.ts';
import type { Ports } from '../model/ports.ts';
import type { RecoveredServices } from '../model/service-rows.ts';
import { HostedService } from './hosted-service.ts';
import type { ServiceInstance } from './service-instance.ts';

export interface ServiceHostOptions {
  of: ServiceInstance;
  /** The services of this instance. */
  specs: readonly ServiceSpec[];
  recovered: RecoveredServices;
  load(spec: ServiceSpec): Promise<SingletonService>;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

export class ServiceHost {
  readonly #services: ReadonlyMap<string, HostedService>;
  readonly #of: ServiceInstance;

  constructor({ of, specs, recovered, load, ports }: ServiceHostOptions) {
    this.#of = of;
    const stateOf = new Map(recovered.states.map((row) => [row.name, row]));
    this.#services = new Map(
      specs.map((spec) => {
        const state = { name: spec.name, epoch: of.epoch, text: stateOf.get(spec.name)?.state };
        const tenures = recovered.tenures.filter(({ name }) => name === spec.name);
        return [spec.name, new HostedService({ spec, state, tenures, of, load, ports })];
      }),
    );
  }

  /** Activates the services in the background, while the instance already serves its queues. */
  start(): void {
    for (const service of this.#services.values()) service.start();
  }

  /** Resolves when all are deactivated, after `serviceDeactivateMsMax` at the latest. Never rejects. */
  async stop(): Promise<void> {
    await Promise.all([...this.#services.values()].map((service) => service.stop()));
  }

  infos(): ServiceInfo[] {
    return [...this.#services.values()].map((service) => service.info);
  }

  /**
   * Throws `SERVICE_NOT_FOUND`, `SERVICE_NOT_ACTIVE`, `SERVICE_BUSY`, `SERVICE_CALL_NOT_FOUND`, `SERVICE_CALL_INVALID`,
   * `SERVICE_CALL_FAILED`, `SERVICE_CALL_UNKNOWN`, and why the instance is not served.
   */
  async call(name: string, call: string, argument: Json = null): Promise<Json> {
    const service = this.#services.get(name);
    if (service === undefined) {
      throw new QueueError('SERVICE_NOT_FOUND', { details: { service: name, instance: this.#of.instance } });
    }
    return await service.call(call, argument);
  }
}
