/** The content of a transaction on sharded queues, and checks for the parts that cannot be repeated under a key or prepared. */
import { QueueError } from '../api/errors.ts';
import type { StagedRun, StagedTransaction } from '../commit/staged-transaction.ts';
import type { Delivery } from '../log/delivery.ts';
import type { DelayedRow } from '../model/delayed-message.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { SqlStatement } from '../model/sql-statement.ts';

/** The content of a transaction that can be prepared. */
export interface PreparableContent {
  runs: readonly StagedRun[];
  deliveries: readonly Delivery[];
  delayed: readonly DelayedRow[];
  /** Statements of the application, run at the prepare. */
  statements: readonly SqlStatement[];
}

/** Effects of a transaction that a rollback of its staged content does not undo. */
export interface EarlyEffects {
  /** Statements that were answered. */
  queryCount: number;
  /** A streamed payload is written, and waits for the commit. */
  hasUploads: boolean;
}

/**
 * An attempt under the same idempotency key must be able to stage the same content, all of it stored as durably as the key.
 * `acknowledgedOf`: the queues of receipts that are not staged yet. Throws `IDEMPOTENCY_KEY_UNSUPPORTED`.
 */
export function assertRepeatable(
  { deliveries, runs }: StagedTransaction,
  { queryCount }: EarlyEffects,
  acknowledgedOf: readonly QueueRow[],
): void {
  const reason =
    deliveries.length > 0
      ? 'has dequeued messages, which no retry can name; receive them and acknowledge their receipts'
      : queryCount > 0
        ? 'has queries, whose results a retry cannot repeat; stage its statements with execute'
        : runs.some(({ log }) => !log.persistent) ||
            acknowledgedOf.some(({ durability }) => durability === 'memory')
          ? 'is on a queue that keeps its messages in memory only'
          : undefined;
  if (reason === undefined) return;
  throw new QueueError('IDEMPOTENCY_KEY_UNSUPPORTED', {
    message: `A transaction that ${reason} cannot have an idempotency key`,
  });
}

/** Throws `XA_UNSUPPORTED` for what a branch cannot keep over a restart, or has done already. */
export function toPreparable(
  { runs, deliveries, delayed = [], sql, serviceState }: StagedTransaction,
  { queryCount, hasUploads }: EarlyEffects,
): PreparableContent {
  const logs = [...runs.map(({ log }) => log), ...deliveries.map(({ cursor }) => cursor.log)];
  const reason =
    serviceState !== undefined
      ? 'writes the state of a service'
      : queryCount > 0
        ? 'has queries, which have run already,'
        : hasUploads
          ? 'has a streamed payload'
          : logs.some(({ persistent }) => !persistent) || deliveries.some(({ cursor }) => !cursor.durable)
            ? 'has messages of a queue or a subscriber that is in memory only'
            : undefined;
  if (reason !== undefined)
    throw new QueueError('XA_UNSUPPORTED', { message: `A branch that ${reason} cannot be prepared` });
  return { runs, deliveries, delayed, statements: sql?.statements ?? [] };
}
