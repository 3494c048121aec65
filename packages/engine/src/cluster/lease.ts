/**
 * The lease under which this process hosts an instance: the claim is verified while the instance is healthy, and the lease is checked
 * before each delivery. Commits need no lease, because the epoch in the instance's file is checked in each of them.
 *
 * A lapsed lease can be held again: the process may have been stopped for a while without any other process claiming the
 * instance. The catalog decides: if the claim is still valid the lease is renewed, if not this process is fenced. Only this thread
 * renews it, on its own clock; the heartbeats of the process come from another thread and say nothing about the claim.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { ClaimNumber, Epoch, InstanceId } from '../model/ids.ts';
import type { MachineClock, Timer } from '../model/ports.ts';
import type { DeliveryLease } from '../queues/delivery-lease.ts';
import type { Hosting, LeaseFile } from '../storage/catalog/lease-file.ts';
import type { Membership } from '../storage/catalog/membership.ts';
import type { ClusterPorts } from './processes.ts';

export interface LeaseOptions {
  instance: InstanceId;
  claim: ClaimNumber;
  membership: Membership;
  leaseFile: LeaseFile;
  ports: ClusterPorts;
  /** Why the instance is too unhealthy to keep its lease; undefined if it is healthy. */
  unhealthyReason(): QueueError | undefined;
  /** The instance became unhealthy: the lease is no longer renewed, and another process will replace this one. */
  onUnhealthy(reason: QueueError): void;
  /** Another process has claimed the instance. */
  onFenced(error: QueueError): void;
  /** The lease is held again after it had lapsed: waiting calls can be served. */
  onReacquired(): void;
}

export class Lease implements DeliveryLease {
  readonly claim: ClaimNumber;
  readonly #options: LeaseOptions;
  readonly #clock: MachineClock;
  readonly #renewTimer: Timer;
  #expiresAtMs = 0;
  /** Epoch of the instance's file; 0 until it is open. */
  #epoch: Epoch = 0;
  #catalogVersion: number;
  #fenced: QueueError | undefined;
  /** Since when the instance has been unhealthy, monotonic ms; 0 while it is healthy. */
  #unhealthySinceMs = 0;
  #failed = false;
  #released = false;

  /** The claim must have just been won. Throws the storage errors. */
  constructor(options: LeaseOptions) {
    this.#options = options;
    this.claim = options.claim;
    this.#clock = options.ports.machineClock;
    this.#catalogVersion = options.membership.dataVersion();
    this.#announce();
    this.#extend();
    this.#renewTimer = options.ports.timers.every(limits.leaseRenewMs, () => this.renew());
  }

  isHeld(): boolean {
    return this.#fenced === undefined && this.#clock.nowMs() < this.#expiresAtMs;
  }

  assertHeld(): void {
    if (this.isHeld()) return;
    if (this.#fenced !== undefined) throw this.#fenced;
    const { instance, unhealthyReason } = this.#options;
    const reason = unhealthyReason()?.message;
    if (reason === undefined && this.#verifyClaim()) {
      this.#extend();
      return;
    }
    if (this.#fenced !== undefined) throw this.#fenced;
    throw new QueueError('LEASE_LAPSED', { details: { instance, ...(reason && { reason }) } });
  }

  /** Other processes can read the epoch of the opened instance when it returns. Throws the storage errors. */
  announceServing(epoch: Epoch): void {
    this.#epoch = epoch;
    this.#announce();
  }

  /** The instance failed, so the end of its claim is to count as a failure for the process that claims it next. */
  announceFailure(): void {
    if (this.#ended) return;
    this.#failed = true;
    try {
      this.#announce();
    } catch {} // it then looks like an orderly end
  }

  /** Called by the timer. */
  renew(): void {
    if (this.#ended) return;
    const isHealthy = this.#checkHealth();
    const lapsed = !this.isHeld();
    if (isHealthy && !this.#verifyClaim({ unlessUnchanged: !lapsed })) return;
    try {
      this.#announce();
    } catch {} // the next renewal tries again
    if (!isHealthy) return;
    this.#extend();
    if (lapsed) this.#options.onReacquired();
  }

  #checkHealth(): boolean {
    const reason = this.#options.unhealthyReason();
    if (reason === undefined) this.#unhealthySinceMs = 0;
    else if (this.#unhealthySinceMs === 0) {
      this.#unhealthySinceMs = this.#clock.nowMs();
      this.#options.onUnhealthy(reason);
    }
    return reason === undefined;
  }

  get #ended(): boolean {
    return this.#released || this.#fenced !== undefined;
  }

  #extend(): void {
    this.#expiresAtMs = this.#clock.nowMs() + limits.leaseMs;
  }

  /** Writes what others may know of the hosting, unless they can read that already: a fenced host may have overwritten it. */
  #announce(): void {
    const { instance, leaseFile } = this.#options;
    const hosting = {
      instance,
      claim: this.claim,
      epoch: this.#epoch,
      unhealthySinceMs: this.#unhealthySinceMs,
      failed: this.#failed,
    };
    const written = leaseFile.read().hostings.find((each) => each.instance === instance);
    if (written === undefined || !isSameHosting(written, hosting)) leaseFile.writeHosting(hosting);
  }

  /** Whether the catalog confirms the claim. Ends the lease if another process has claimed the instance. */
  #verifyClaim({ unlessUnchanged = false } = {}): boolean {
    const { instance, membership, onFenced } = this.#options;
    try {
      const version = membership.dataVersion();
      if (unlessUnchanged && version === this.#catalogVersion) return true;
      if (membership.holdsClaim(instance, this.claim)) {
        this.#catalogVersion = version;
        return true;
      }
    } catch {
      return false; // the catalog cannot be read now, so the lease must not be renewed
    }
    this.#renewTimer.cancel();
    this.#fenced = new QueueError('INSTANCE_FENCED', { details: { instance, claim: this.claim } });
    onFenced(this.#fenced);
    return false;
  }

  /** Stops renewing. The caller releases the claim once nothing more is written under it. */
  stopRenewing(): void {
    this.#released = true;
    this.#renewTimer.cancel();
  }
}

function isSameHosting(a: Hosting, b: Hosting): boolean {
  return (
    a.claim === b.claim &&
    a.epoch === b.epoch &&
    a.unhealthySinceMs === b.unhealthySinceMs &&
    a.failed === b.failed
  );
}
