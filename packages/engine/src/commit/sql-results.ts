/** How the statements of a group's transactions ended. */
import type { QueueError } from '../api/errors.ts';
import type { GroupResult } from '../model/group-message.ts';
import { fromStorageFailure } from '../model/storage-failure.ts';
import type { GroupMember } from './system-write.ts';

/** Puts into each transaction the results of its statements; returns the transactions in which one failed. */
export function applySqlResults(
  transactions: readonly GroupMember[],
  outcomes: GroupResult['sqlOutcomes'],
): ReadonlyMap<GroupMember, QueueError> {
  const failed = new Map<GroupMember, QueueError>();
  for (const [index, transaction] of transactions.entries()) {
    const { results, failure } = outcomes[index]!;
    if (failure === null) transaction.sql!.results = results;
    else failed.set(transaction, fromStorageFailure(failure));
  }
  return failed;
}
