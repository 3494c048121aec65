/** The way from one instance to the others: a connection to the socket of each that it has to do with. */
import type { Interconnect, Peer } from '../../instance/forwarding/interconnect.ts';
import type { InlineInstance } from '../../instance/inline-instance.ts';
import { PeerLink } from './peer-link.ts';

export class SocketInterconnect implements Interconnect {
  readonly idleMs: number;
  readonly #instance: InlineInstance;
  readonly #pathOf: (instance: number) => string;
  readonly #links = new Map<number, PeerLink>();

  /** Only an instance that is served itself has use for it: the others answer over a connection of their own. */
  constructor(
    instance: InlineInstance,
    { pathOf, idleMs }: { pathOf(instance: number): string; idleMs: number },
  ) {
    this.idleMs = idleMs;
    this.#instance = instance;
    this.#pathOf = pathOf;
    instance.connectTo(this);
  }

  peers(): readonly number[] {
    return this.#instance.hostedBeside;
  }

  peer(instance: number): Peer {
    let link = this.#links.get(instance);
    if (link === undefined) {
      const { id, forwarding } = this.#instance;
      link = new PeerLink({ path: this.#pathOf(instance), instance, self: { instance: id, forwarding } });
      this.#links.set(instance, link);
    }
    return link;
  }

  /** What is under way in order is finished, if it is quick. */
  async close(): Promise<void> {
    await this.#instance.disconnect();
    await Promise.all([...this.#links.values()].map((link) => link.close()));
  }
}
