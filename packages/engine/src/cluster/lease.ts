/**
 * The lease under which this process hosts an instance: renewed while the instance is healthy, checked before each
 * delivery. Commits need no lease, because the epoch in the instance's file is checked in each of them.
 *
 * A lapsed lease can be held again: the process may have been stopped for a while without any other process claiming the
 * instance. The catalog decides: if the claim is still valid the lease is renewed, if not this process is fenced.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { ClaimNumber, Epoch, InstanceId } from '../model/ids.ts';
import type { MachineClock, Timer } from '../model/ports.ts';
import type { DeliveryLease } from '../queues/delivery-lease.ts';
import type { LeaseFile } from '../storage/catalog/lease-file.ts';
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
  /** The instance became unhealthy: the lease is no longer renewed and will lapse. */
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
  /** Set while a renewal is being written. */
  #pendingWrite: Promise<void> | undefined;
  #fenced: QueueError | undefined;
  #isUnhealthy = false;
  #released = false;

  /** The claim must have just been won. Throws the storage errors. */
  constructor(options: LeaseOptions) {
    this.#options = options;
    this.claim = options.claim;
    this.#clock = options.ports.machineClock;
    this.#catalogVersion = options.membership.dataVersion();
    this.#renewSync();
    this.#renewTimer = options.ports.timers.every(limits.leaseRenewMs, () => void this.renew());
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
      this.#renewSync();
      return;
    }
    if (this.#fenced !== undefined) throw this.#fenced;
    throw new QueueError('LEASE_LAPSED', { details: { instance, ...(reason && { reason }) } });
  }

  /** Writes the epoch of the opened instance; resolves when other processes can read it. */
  async announceServing(epoch: Epoch): Promise<void> {
    this.#epoch = epoch;
    await this.#pendingWrite?.catch(() => undefined); // it would overwrite this heartbeat
    if (!this.#ended && (this.isHeld() || this.#verifyClaim())) this.#renewSync();
  }

  /** Called by the timer. Resolves when other processes can read the renewal, or when the lease was not renewed. */
  async renew(): Promise<void> {
    if (this.#pendingWrite !== undefined || this.#ended || !this.#checkHealth()) return;
    const lapsed = !this.isHeld();
    if (!this.#verifyClaim({ unlessUnchanged: !lapsed })) return;
    const expiresAtMs = this.#clock.nowMs() + limits.leaseMs;
    this.#pendingWrite = this.#options.leaseFile.write(this.#heartbeat(expiresAtMs));
    try {
      await this.#pendingWrite;
    } catch {
      return; // the next renewal tries again; the lease lapses if none succeeds
    } finally {
      this.#pendingWrite = undefined;
    }
    if (this.#ended) return;
    this.#expiresAtMs = Math.max(this.#expiresAtMs, expiresAtMs);
    if (lapsed) this.#options.onReacquired();
  }

  #checkHealth(): boolean {
    const reason = this.#options.unhealthyReason();
    if (reason !== undefined && !this.#isUnhealthy) this.#options.onUnhealthy(reason);
    this.#isUnhealthy = reason !== undefined;
    return !this.#isUnhealthy;
  }

  get #ended(): boolean {
    return this.#released || this.#fenced !== undefined;
  }

  #renewSync(): void {
    const expiresAtMs = this.#clock.nowMs() + limits.leaseMs;
    this.#options.leaseFile.writeBlocking(this.#heartbeat(expiresAtMs));
    this.#expiresAtMs = expiresAtMs;
  }

  #heartbeat(expiresAtMs: number) {
    const { instance } = this.#options;
    return {
      instance,
      claim: this.claim,
      epoch: this.#epoch,
      pid: this.#options.ports.processes.self.pid,
      expiresAtMs,
    };
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
