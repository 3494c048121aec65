/** The work of a branch in the form in which it is shipped to the home instance of its transaction. */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { ShippedWork } from '../../model/home-calls.ts';
import { validateStatement } from '../../model/sql-statement.ts';
import type { ShardedTransaction } from '../../queues/sharded-transaction.ts';
import type { PreparableContent } from '../../queues/transaction-content.ts';

/**
 * Undefined if the work stays where it is: a part of it would have to be committed here in any case (messages that it consumes),
 * it cannot be prepared (which the prepare reports), it has delayed messages, whose time runs on this instance's clock, or it is too
 * large. Statements whose rows are here are refused by the home instance.
 */
export function contentToShip(
  transaction: ShardedTransaction,
  origin: Pick<ShippedWork, 'instance' | 'session'>,
): ShippedWork | undefined {
  const content = preparable(transaction);
  if (content === undefined || content.deliveries.length + content.delayed.length > 0) return undefined;
  const { statements } = content;
  if (content.runs.length + statements.length === 0) return undefined;
  const runs = content.runs.map(({ log, segments, count }) => {
    const records = Buffer.concat(
      segments.map(({ buffer, start, end }) => buffer.subarray(start, end)),
    ).toString('base64');
    return { queueId: log.queueId, count, records };
  });
  const work = { ...origin, runs, statements };
  return shippedBytes(work) > limits.shippedBranchBytesMax ? undefined : work;
}

/** Approximate size of shipped work in a frame and in memory. */
export function shippedBytes({ runs, statements }: Pick<ShippedWork, 'runs' | 'statements'>): number {
  const ofRuns = runs.reduce((sum, { records }) => sum + records.length, 0);
  return statements.reduce(
    (sum, { sql, parameters }) => sum + validateStatement(sql, parameters).bytes,
    ofRuns,
  );
}

function preparable(transaction: ShardedTransaction): PreparableContent | undefined {
  try {
    return transaction.contentToPrepare();
  } catch (error) {
    if (error instanceof QueueError) return undefined;
    throw error;
  }
}
