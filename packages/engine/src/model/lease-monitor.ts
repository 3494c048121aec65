/**
 * Decides when an instance's lease has expired, as another process sees it. The times passed in are milliseconds of the machine's
 * monotonic clock, which all processes of one boot share.
 *
 * - A claim seen for the first time gets a whole lease.
 * - While an instance is being opened (its heartbeat has no epoch yet, or there is none), its lease lasts longer: opening keeps
 *   the process's thread busy, on a loaded machine for longer than a lease. Killing it would only make another process repeat the
 *   same opening.
 * - A heartbeat of another claim than the current one comes from a process that was fenced and has not noticed yet. It is
 *   ignored.
 * - A heartbeat that expires later than one lease from now dates from an earlier boot, whose clock was ahead. It is ignored too.
 * - After a late scan (the machine or this process was suspended) nothing expires for a while, so that the other processes,
 *   suspended like this one, can renew first.
 */
import type { ClaimNumber, Epoch, InstanceId, Pid } from './ids.ts';

export interface LeaseHeartbeat {
  instance: InstanceId;
  claim: ClaimNumber;
  expiresAtMs: number;
  /** Epoch of the instance's file; 0 while the file is being opened. */
  epoch: Epoch;
  pid: Pid;
}

export interface LeaseMonitorOptions {
  leaseMs: number;
  /** Duration of the lease of an instance that is being opened; at least `leaseMs`. */
  openingMs: number;
  /** A scan that starts later than this after the previous one is late. */
  scanLateMs: number;
  /** No lease expires within this time of a late scan. */
  graceMs: number;
}

interface SeenClaim {
  claim: ClaimNumber;
  expiresAtMs: number;
  isOpening: boolean;
}

export class LeaseMonitor {
  readonly #options: LeaseMonitorOptions;
  #seenClaims = new Map<InstanceId, SeenClaim>();
  #lastScanMs = Number.NEGATIVE_INFINITY;
  #onTimeSinceMs = 0;

  constructor(options: LeaseMonitorOptions) {
    this.#options = options;
  }

  /**
   * Records a scan. `nowMs` must be read before the heartbeats are: if it were read after them and the process was
   * suspended in between, every heartbeat would seem old.
   */
  observe(
    nowMs: number,
    claims: Iterable<{ instance: InstanceId; claim: ClaimNumber }>,
    heartbeats: readonly LeaseHeartbeat[],
  ): void {
    const { leaseMs, scanLateMs } = this.#options;
    if (nowMs - this.#lastScanMs > scanLateMs) this.#onTimeSinceMs = nowMs;
    this.#lastScanMs = nowMs;
    const seenClaims = new Map<InstanceId, SeenClaim>();
    for (const { instance, claim } of claims) {
      const previous = this.#seenClaims.get(instance);
      const isKnown = previous?.claim === claim;
      seenClaims.set(instance, isKnown ? previous : { claim, expiresAtMs: nowMs + leaseMs, isOpening: true });
    }
    this.#seenClaims = seenClaims;
    for (const { instance, claim, expiresAtMs, epoch } of heartbeats) {
      const seen = seenClaims.get(instance);
      if (seen?.claim !== claim || expiresAtMs > nowMs + leaseMs) continue;
      seen.expiresAtMs = Math.max(seen.expiresAtMs, expiresAtMs);
      seen.isOpening = epoch === 0;
    }
  }

  /** Whether the claim seen by the last scan has expired. */
  hasLapsed(instance: InstanceId): boolean {
    const seen = this.#seenClaims.get(instance);
    const { leaseMs, openingMs, graceMs } = this.#options;
    if (seen === undefined || this.#lastScanMs - this.#onTimeSinceMs < graceMs) return false;
    return seen.expiresAtMs + (seen.isOpening ? openingMs - leaseMs : 0) < this.#lastScanMs;
  }
}
