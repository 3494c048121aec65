/**
 * When a lease has lapsed, as another process sees it. Readings of the clock are arguments: milliseconds of the machine's
 * monotonic clock, which all processes of one boot share.
 *
 * - A claim that was never seen before has a whole lease from the first look on: its process may be opening.
 * - Signs that name another claim are of a process that was shut out and does not know it yet: they count for nothing.
 * - A sign that promises more than a lease is of an earlier boot, whose clock was ahead: it counts for nothing.
 * - Who looked late, because the whole machine stood still or it was stopped itself, gives the others time to renew.
 */
export interface LeaseSign {
  instance: number;
  claim: number;
  expiresAtMs: number;
  /** Of the instance's file; 0 while it is being opened. */
  epoch: number;
  pid: number;
}

export interface LeaseWatchOptions {
  leaseMs: number;
  /** A look later than this after the one before is a late one. */
  lookLateMs: number;
  /** After a late look nothing lapses for this long. */
  graceMs: number;
}

export class LeaseWatch {
  readonly #options: LeaseWatchOptions;
  #seen = new Map<number, { claim: number; expiresAtMs: number }>();
  #lastLookMs = Number.NEGATIVE_INFINITY;
  #awakeSinceMs = 0;

  constructor(options: LeaseWatchOptions) {
    this.#options = options;
  }

  /** `nowMs` was read before the signs were: the other way round, a stop in between would make all of them old. */
  look(
    nowMs: number,
    claims: Iterable<{ instance: number; claim: number }>,
    signs: readonly LeaseSign[],
  ): void {
    const { leaseMs, lookLateMs } = this.#options;
    if (nowMs - this.#lastLookMs > lookLateMs) this.#awakeSinceMs = nowMs;
    this.#lastLookMs = nowMs;
    const seen = new Map<number, { claim: number; expiresAtMs: number }>();
    for (const { instance, claim } of claims) {
      const before = this.#seen.get(instance);
      seen.set(instance, before?.claim === claim ? before : { claim, expiresAtMs: nowMs + leaseMs });
    }
    this.#seen = seen;
    for (const { instance, claim, expiresAtMs } of signs) {
      const known = seen.get(instance);
      if (known?.claim !== claim || expiresAtMs > nowMs + leaseMs) continue;
      known.expiresAtMs = Math.max(known.expiresAtMs, expiresAtMs);
    }
  }

  /** Whether the claim that the last look saw has lapsed. */
  lapsed(instance: number): boolean {
    const known = this.#seen.get(instance);
    if (known === undefined || this.#lastLookMs - this.#awakeSinceMs < this.#options.graceMs) return false;
    return known.expiresAtMs < this.#lastLookMs;
  }
}
