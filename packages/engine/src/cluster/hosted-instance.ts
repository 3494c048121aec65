/**
 * One instance while this process of a cluster hosts it: claimed, leased, open and served to its clients. The lease is
 * renewed until the claim has ended, so that no other process considers this one dead while it closes files.
 */

import type { QueueError } from '../api/errors.ts';
import type { Instance, InstanceOptions } from '../api/instance.ts';
import type { DamageFinding } from '../api/instance-stats.ts';
import type { ClaimNumber, InstanceId } from '../model/ids.ts';
import type { Timers } from '../model/ports.ts';
import { assembleInstance } from '../runtime/assemble-instance.ts';
import type { LocalInstance } from '../runtime/local-instance.ts';
import type { LeaseFile } from '../storage/catalog/lease-file.ts';
import type { Membership } from '../storage/catalog/membership.ts';
import { endClaim } from './change-membership.ts';
import { Lease } from './lease.ts';
import type { ClusterPorts } from './processes.ts';

/** The server of a hosted instance for its clients. */
export interface ServingHandle {
  /** Ends the connections; clients then search for the next host. */
  close(): Promise<void>;
}

export interface HostedInstanceOptions {
  instanceId: InstanceId;
  claim: ClaimNumber;
  role: 'owner' | 'failover';
  membership: Membership;
  leaseFile: LeaseFile;
  instanceOptions: Omit<InstanceOptions, 'instance'>;
  writerSilentMsMax: number;
  ports: ClusterPorts;
  /** The instance that this process belongs to. */
  processOf: InstanceId;
  /** The instance is being removed from the cluster and accepts no messages. */
  leaving: boolean;
  serve(instance: Instance): Promise<ServingHandle>;
  /** The instance failed or was fenced. */
  onEnded(error: QueueError): void;
  /** The instance asks to be hosted by another process. */
  onUnhealthy(reason: QueueError): void;
  onDamageFound(finding: DamageFinding): void;
}

export class HostedInstance {
  readonly instanceId: InstanceId;
  readonly claim: ClaimNumber;
  readonly role: 'owner' | 'failover';
  readonly instance: LocalInstance;
  readonly #membership: Membership;
  readonly #timers: Timers;
  readonly #lease: Lease;
  readonly #servingHandle: ServingHandle;

  /** Opens and serves a claimed instance. If that fails, the claim is ended too. */
  static async open(options: HostedInstanceOptions): Promise<HostedInstance> {
    const { instanceId, claim, membership } = options;
    const opened: { instance?: LocalInstance; serving?: ServingHandle } = {};
    const lease = new Lease({
      instance: instanceId,
      claim,
      membership,
      leaseFile: options.leaseFile,
      ports: options.ports,
      unhealthyReason: () => opened.instance && reasonToLapse(opened.instance, options.writerSilentMsMax),
      onUnhealthy: (reason) => {
        // A failed or fenced instance is reported by its own event.
        if (reason !== opened.instance?.endReason) options.onUnhealthy(reason);
      },
      onFenced: (error) => opened.instance?.fence(error),
      onReacquired: () => opened.instance?.onLeaseRegained(),
    });
    try {
      const instance = await assembleInstance(
        instanceId,
        options.instanceOptions,
        {
          lease,
          processOf: options.processOf,
          onEnded: options.onEnded,
          onDamageFound: options.onDamageFound,
          onClosed: () => undefined,
        },
        options.ports,
      );
      instance.acceptsMessages = !options.leaving;
      opened.instance = instance;
      opened.serving = await options.serve(instance);
      lease.announceServing(instance.epoch);
      instance.startServices();
      return new HostedInstance(options, { instance, lease, serving: opened.serving });
    } catch (error) {
      lease.announceFailure();
      // The error that counts is the one that made the opening fail.
      await opened.serving?.close().catch(() => undefined);
      await opened.instance?.close().catch(() => undefined);
      await endClaim(options.ports.timers, () => membership.releaseClaim(claim));
      lease.stopRenewing();
      throw error;
    }
  }

  private constructor(
    { instanceId, claim, role, membership, ports }: HostedInstanceOptions,
    parts: { instance: LocalInstance; lease: Lease; serving: ServingHandle },
  ) {
    this.instanceId = instanceId;
    this.claim = claim;
    this.role = role;
    this.instance = parts.instance;
    this.#membership = membership;
    this.#timers = ports.timers;
    this.#lease = parts.lease;
    this.#servingHandle = parts.serving;
  }

  /**
   * Finishes the commits under way, closes the files and ends the claim, in favour of the owner if the owner requested that. The
   * claim ends also if this rejects: a claim without a lease would get this process killed.
   */
  async close(): Promise<void> {
    if (this.instance.endReason !== undefined) this.#lease.announceFailure();
    await this.instance.stopServices(); // answers to their calls still reach the callers
    try {
      await this.#servingHandle.close();
    } finally {
      await this.#closeInstance();
    }
  }

  async #closeInstance(): Promise<void> {
    try {
      await this.instance.close();
    } finally {
      await endClaim(this.#timers, () => this.#membership.returnToOwner(this.claim));
      this.#lease.stopRenewing();
    }
  }
}

/** While an instance closes its files only a writer that hangs counts: the files may take longer to close than a lease lasts. */
function reasonToLapse(instance: LocalInstance, writerSilentMsMax: number): QueueError | undefined {
  return instance.endReason?.code === 'INSTANCE_CLOSED'
    ? instance.writerSilence(writerSilentMsMax)
    : instance.unhealthyReason(writerSilentMsMax);
}
