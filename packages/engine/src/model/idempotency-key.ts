/** The row that is stored under an idempotency key, with the commit of its transaction. */
export interface IdempotencyKeyRow {
  key: string;
  /** SHA-256 of the transaction's content (`queues/transaction-fingerprint.ts`). */
  fingerprint: Uint8Array;
  /** Ids of the messages that it enqueued: `id-runs.ts`. */
  idRuns: Uint8Array;
  /** Time of the delay clock (`delay-clock.ts`). */
  committedAtMs: number;
}
