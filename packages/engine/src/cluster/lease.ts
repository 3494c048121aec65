/**
 * The lease under which this process hosts an instance: renewed while the instance is well, checked before each
 * hand-out. Commits are checked by the epoch in the file besides, so a lease guards only what is not written down.
 *
 * A lease that lapsed is not lost: nobody may have taken the instance meanwhile (the process stood still, or nobody
 * watches). It is held again once the catalog says that the claim still stands; if it does not, this process is fenced.
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { HandOutLease } from '../instance/hand-out-lease.ts';
import type { LeaseFile } from '../storage/lease-file.ts';
import type { Membership } from '../storage/membership.ts';
import { type Clock, monotonicMs } from './monotonic-clock.ts';

export interface LeaseOptions {
  instance: number;
  claim: number;
  membership: Membership;
  file: LeaseFile;
  clock?: Clock;
  /** Why the instance is not well enough to keep its lease; undefined if it is. */
  illness(): string | undefined;
  /** Another process has the instance. */
  onFenced(error: QueueError): void;
  /** Held again after it had lapsed: calls that wait may be served. */
  onHeldAgain(): void;
}

export class Lease implements HandOutLease {
  readonly claim: number;
  readonly #options: LeaseOptions;
  readonly #clock: Clock;
  readonly #renewing: NodeJS.Timeout;
  #expiresAtMs = 0;
  /** Of the instance's file; 0 until it is open. */
  #epoch = 0;
  #catalogVersion: number;
  /** A renewal that is on its way to the file. */
  #writing: Promise<void> | undefined;
  #fenced: QueueError | undefined;
  #released = false;

  /** The claim was just won. Throws the storage errors. */
  constructor(options: LeaseOptions) {
    this.#options = options;
    this.claim = options.claim;
    this.#clock = options.clock ?? monotonicMs;
    this.#catalogVersion = options.membership.version();
    this.#renewNow();
    this.#renewing = setInterval(() => void this.renew(), limits.leaseRenewMs).unref();
  }

  held(): boolean {
    return this.#fenced === undefined && this.#clock() < this.#expiresAtMs;
  }

  assertHeld(): void {
    if (this.held()) return;
    if (this.#fenced !== undefined) throw this.#fenced;
    const { instance, illness } = this.#options;
    const reason = illness();
    if (reason === undefined && this.#assertClaim()) {
      this.#renewNow();
      return;
    }
    if (this.#fenced !== undefined) throw this.#fenced;
    throw new QueueError('LEASE_LAPSED', { details: { instance, ...(reason && { reason }) } });
  }

  /** The instance is open and served: resolves when others can see it. */
  async announce(epoch: number): Promise<void> {
    this.#epoch = epoch;
    await this.#writing?.catch(() => undefined); // it would overwrite this one
    if (!this.#ended && (this.held() || this.#assertClaim())) this.#renewNow();
  }

  /** What the timer does; resolves when others can see that the lease is renewed, or when it is not. */
  async renew(): Promise<void> {
    if (this.#writing !== undefined || this.#ended || this.#options.illness() !== undefined) return;
    const lapsed = !this.held();
    if (!this.#assertClaim({ unlessUnchanged: !lapsed })) return;
    const expiresAtMs = this.#clock() + limits.leaseMs;
    this.#writing = this.#options.file.write(this.#sign(expiresAtMs));
    try {
      await this.#writing;
    } catch {
      return; // the next round tries again; without a success the lease lapses
    } finally {
      this.#writing = undefined;
    }
    if (this.#ended) return;
    this.#expiresAtMs = Math.max(this.#expiresAtMs, expiresAtMs);
    if (lapsed) this.#options.onHeldAgain();
  }

  get #ended(): boolean {
    return this.#released || this.#fenced !== undefined;
  }

  #renewNow(): void {
    const expiresAtMs = this.#clock() + limits.leaseMs;
    this.#options.file.writeNow(this.#sign(expiresAtMs));
    this.#expiresAtMs = expiresAtMs;
  }

  #sign(expiresAtMs: number) {
    const { instance } = this.#options;
    return { instance, claim: this.claim, epoch: this.#epoch, pid: process.pid, expiresAtMs };
  }

  /** Whether the claim still stands, as far as the catalog can be read; ends the lease if it does not. */
  #assertClaim({ unlessUnchanged = false } = {}): boolean {
    const { instance, membership, onFenced } = this.#options;
    try {
      const version = membership.version();
      if (unlessUnchanged && version === this.#catalogVersion) return true;
      if (membership.holds(instance, this.claim)) {
        this.#catalogVersion = version;
        return true;
      }
    } catch {
      return false; // it cannot be told now; who cannot tell does not renew
    }
    clearInterval(this.#renewing);
    this.#fenced = new QueueError('INSTANCE_FENCED', { details: { instance, claim: this.claim } });
    onFenced(this.#fenced);
    return false;
  }

  /** Not renewed any more. The claim is the caller's to release, once nothing is written under it. */
  end(): void {
    this.#released = true;
    clearInterval(this.#renewing);
  }
}
