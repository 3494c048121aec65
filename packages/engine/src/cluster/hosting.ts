/**
 * One instance while this process of a cluster hosts it: claimed, under a lease, open, and served to its clients. The
 * lease is kept until the claim has ended, so that nobody takes for dead who is still closing files.
 */
import type { QueueError } from '../core/errors.ts';
import type { InlineInstance } from '../instance/inline-instance.ts';
import type { LeaseFile } from '../storage/lease-file.ts';
import type { Membership } from '../storage/membership.ts';
import type { Instance, InstanceOptions } from '../types.ts';
import { assembleInstance } from './assemble-instance.ts';
import { endClaim } from './change-membership.ts';
import { Lease } from './lease.ts';

/** What is done with an instance as long as it is hosted: its socket, say. */
export interface Serving {
  /** Nothing new is taken on; clients may already look for the next host. */
  close(): Promise<void>;
}

export interface HostingOptions {
  id: number;
  claim: number;
  role: 'home' | 'guest';
  membership: Membership;
  leases: LeaseFile;
  instance: Omit<InstanceOptions, 'instance'>;
  writerSilentMsMax: number;
  /** It is to leave the cluster: it takes no messages. */
  leaving: boolean;
  serve(instance: Instance): Promise<Serving>;
  /** The instance stopped by itself, or was fenced. */
  onEnded(error: QueueError): void;
}

export class Hosting {
  readonly id: number;
  readonly claim: number;
  readonly role: 'home' | 'guest';
  readonly instance: InlineInstance;
  readonly #membership: Membership;
  readonly #lease: Lease;
  readonly #serving: Serving;

  /** Opens and serves a claimed instance. If that fails the claim has ended too. */
  static async open(options: HostingOptions): Promise<Hosting> {
    const { id, claim, membership } = options;
    const opened: { instance?: InlineInstance } = {};
    const lease = new Lease({
      instance: id,
      claim,
      membership,
      file: options.leases,
      illness: () => opened.instance?.illness(options.writerSilentMsMax),
      onFenced: (error) => opened.instance?.fence(error),
      onHeldAgain: () => opened.instance?.resume(),
    });
    try {
      const instance = await assembleInstance(id, options.instance, {
        lease,
        onEnded: options.onEnded,
        onClosed: () => undefined,
      });
      instance.takesMessages = !options.leaving;
      opened.instance = instance;
      const serving = await options.serve(instance);
      await lease.announce(instance.epoch);
      return new Hosting(options, { instance, lease, serving });
    } catch (error) {
      await opened.instance?.close();
      await endClaim(() => membership.release(claim));
      lease.end();
      throw error;
    }
  }

  private constructor(
    { id, claim, role, membership }: HostingOptions,
    parts: { instance: InlineInstance; lease: Lease; serving: Serving },
  ) {
    this.id = id;
    this.claim = claim;
    this.role = role;
    this.instance = parts.instance;
    this.#membership = membership;
    this.#lease = parts.lease;
    this.#serving = parts.serving;
  }

  /** Finishes the commits under way, closes the files and ends the claim: to whoever recalled it, or to whoever comes. */
  async close(): Promise<void> {
    await this.#serving.close();
    await this.instance.close();
    await endClaim(() => this.#membership.giveBack(this.claim));
    this.#lease.end();
  }
}
