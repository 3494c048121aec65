/** The other instances of the cluster, as one instance sees them: which are hosted now, and how to reach them. */

import type { Interconnect } from '../forwarding/interconnect.ts';
import type { InstanceId } from '../model/ids.ts';
import type { Catalog } from '../storage/catalog/catalog.ts';
import type { BranchPeers } from '../xa/passed-on-calls.ts';
import type { HomePeers } from '../xa/tight/home-instances.ts';
import type { ShardedParts } from './assemble-sharded.ts';

/** Requests to the other instances: forwarded messages, and calls about branches of distributed transactions. */
export type PeerInterconnect = Interconnect & HomePeers & BranchPeers;

export interface PeerInstancesOptions {
  instance: InstanceId;
  catalog: Catalog;
  sharded: ShardedParts;
}

export class PeerInstances {
  readonly #options: PeerInstancesOptions;
  #interconnect: PeerInterconnect | undefined;
  #hosted: readonly InstanceId[] = [];

  constructor(options: PeerInstancesOptions) {
    this.#options = options;
  }

  /** The others that a process hosts, as the catalog had them at the last `refresh`. */
  get hosted(): readonly InstanceId[] {
    return this.#hosted;
  }

  /** From now on messages and calls about branches can be exchanged with the other instances. */
  connect(interconnect: PeerInterconnect): void {
    const { homeInstances, passedOn, forwarding } = this.#options.sharded;
    this.#interconnect = interconnect;
    homeInstances.peers = interconnect;
    passedOn.peers = interconnect;
    forwarding.connect(interconnect);
  }

  /** Starts nothing more with the others, and gives what is under way a bounded time to end. */
  async disconnect(): Promise<void> {
    const { homeInstances, passedOn, forwarding } = this.#options.sharded;
    this.#interconnect = undefined;
    homeInstances.peers = undefined;
    passedOn.peers = undefined;
    await forwarding.disconnect();
  }

  /** Reads from the catalog which of them are hosted, and notifies forwarding of a change. */
  refresh(): void {
    const { instance, catalog, sharded } = this.#options;
    const hosted = catalog.hostedInstances().filter((other) => other !== instance);
    if (hosted.join() === this.#hosted.join()) return;
    this.#hosted = hosted;
    if (this.#interconnect !== undefined) sharded.forwarding.connect(this.#interconnect);
  }
}
