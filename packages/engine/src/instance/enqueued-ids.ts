/** Which ids a transaction's enqueue calls got: known once its group is numbered. */

import { delayedNo } from '../core/shard-number.ts';
import type { IdRun } from '../storage/id-runs.ts';
import type { StagedTransaction } from './staged-transaction.ts';

/** `runOfCall` has, for each call, the index of its run, or -1 - index of its delayed message. */
export function enqueuedIds(
  { runs, delayed = [] }: Pick<StagedTransaction, 'runs' | 'delayed'>,
  runOfCall: readonly number[],
): IdRun[] {
  if (runs.length === 1 && delayed.length === 0) {
    const { shard, firstSeq, count } = runs[0]!;
    return [{ shard: shard.no, firstSeq, count }];
  }
  const next = runs.map((run) => run.firstSeq);
  const ids: IdRun[] = [];
  let last = -1;
  for (const index of runOfCall) {
    if (index < 0) {
      const { shard, no } = delayed[-1 - index]!;
      ids.push({ shard: delayedNo(shard), firstSeq: no, count: 1 });
      last = index;
      continue;
    }
    const seq = next[index]!;
    next[index] = seq + 1;
    if (index === last) ids.at(-1)!.count += 1;
    else ids.push({ shard: runs[index]!.shard.no, firstSeq: seq, count: 1 });
    last = index;
  }
  return ids;
}
