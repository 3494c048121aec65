/** The bound of one open transaction: it lies in memory until it commits. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';

/** Throws `TX_TOO_LARGE` if a transaction of this size may not be. */
export function assertTransactionSize(operations: number, bytes: number): void {
  const { transactionOperationsMax: operationsMax, transactionBytesMax: bytesMax } = limits;
  if (operations <= operationsMax && bytes <= bytesMax) return;
  throw new QueueError('TX_TOO_LARGE', { details: { operations, operationsMax, bytes, bytesMax } });
}
