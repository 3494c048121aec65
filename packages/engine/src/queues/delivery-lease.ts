/** Checked before each delivery: whether this process still hosts the instance. */
export interface DeliveryLease {
  /** Costs a comparison. */
  isHeld(): boolean;
  /** Throws `LEASE_LAPSED` or `INSTANCE_FENCED`; renews a lease that lapsed without being taken. */
  assertHeld(): void;
}
