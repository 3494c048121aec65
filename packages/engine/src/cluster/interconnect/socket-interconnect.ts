/** Connects an instance to the other instances of its cluster, each over the socket on which it is served. */

import type { Interconnect } from '../../forwarding/interconnect.ts';
import type { HomeAnswer, HomeCall } from '../../model/home-calls.ts';
import type { InstanceId } from '../../model/ids.ts';
import type { PassedOnAnswer, PassedOnCall } from '../../model/passed-on-call.ts';
import type { InstancePorts } from '../../model/ports.ts';
import type { LocalInstance } from '../../runtime/local-instance.ts';
import type { BranchPeers } from '../../xa/passed-on-calls.ts';
import type { HomePeers } from '../../xa/tight/home-instances.ts';
import { PeerLink } from './peer-link.ts';

export class SocketInterconnect implements Interconnect, HomePeers, BranchPeers {
  readonly consumerIdleMs: number;
  readonly #instance: LocalInstance;
  readonly #pathOf: (instance: InstanceId) => string;
  readonly #ports: InstancePorts;
  readonly #links = new Map<InstanceId, PeerLink>();

  /** The instance must be served itself, because the others reply over connections that they open. */
  constructor(
    instance: LocalInstance,
    { pathOf, idleMs, ports }: { pathOf(instance: InstanceId): string; idleMs: number; ports: InstancePorts },
  ) {
    this.consumerIdleMs = idleMs;
    this.#instance = instance;
    this.#pathOf = pathOf;
    this.#ports = ports;
    instance.connectInterconnect(this);
  }

  peers(): readonly InstanceId[] {
    return this.#instance.otherHostedInstances;
  }

  peer(instance: InstanceId): PeerLink {
    let link = this.#links.get(instance);
    if (link === undefined) {
      const { id, forwarding, emulatedInterconnectMs: emulatedMs } = this.#instance;
      const self = { instance: id, forwarding };
      link = new PeerLink({ path: this.#pathOf(instance), instance, self, emulatedMs, ports: this.#ports });
      this.#links.set(instance, link);
    }
    return link;
  }

  callHome(home: InstanceId, call: HomeCall): Promise<HomeAnswer> {
    return this.peer(home).callHome(call);
  }

  callBranch(instance: InstanceId, call: PassedOnCall): Promise<PassedOnAnswer> {
    return this.peer(instance).callBranch(call);
  }

  /** Ends forwarding in order as far as that is quick, then closes the connections. */
  async close(): Promise<void> {
    await this.#instance.disconnect();
    await Promise.all([...this.#links.values()].map((link) => link.close()));
  }
}
