/** The work of a branch in the form in which it is shipped to the home instance of its transaction. */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { ShippedWork } from '../../model/home-calls.ts';
import type { PreparableContent, ShardedTransaction } from '../../queues/sharded-transaction.ts';

/**
 * Undefined if the work stays where it is: a part of it would have to be committed here in any case (messages that it consumes),
 * it has statements, whose rows are here, it cannot be prepared (which the prepare reports), it has delayed messages, whose time runs on this instance's clock, or it is too large.
 */
export function contentToShip(
  transaction: ShardedTransaction,
  origin: Pick<ShippedWork, 'instance' | 'session'>,
): ShippedWork | undefined {
  const content = preparable(transaction);
  if (content === undefined || content.runs.length === 0) return undefined;
  if (content.deliveries.length + content.delayed.length + content.statements.length > 0) return undefined;
  const runs = content.runs.map(({ log, segments, count }) => {
    const records = Buffer.concat(
      segments.map(({ buffer, start, end }) => buffer.subarray(start, end)),
    ).toString('base64');
    return { queueId: log.queueId, count, records };
  });
  const bytes = runs.reduce((sum, { records }) => sum + records.length, 0);
  return bytes > limits.shippedBranchBytesMax ? undefined : { ...origin, runs };
}

function preparable(transaction: ShardedTransaction): PreparableContent | undefined {
  try {
    return transaction.contentToPrepare();
  } catch (error) {
    if (error instanceof QueueError) return undefined;
    throw error;
  }
}
