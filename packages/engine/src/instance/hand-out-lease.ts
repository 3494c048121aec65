/** What a hand-out asks before it happens: whether this process still hosts the instance. */
export interface HandOutLease {
  /** Costs a comparison. */
  held(): boolean;
  /** Throws `LEASE_LAPSED` or `INSTANCE_FENCED`; renews a lease that lapsed without being taken. */
  assertHeld(): void;
}
