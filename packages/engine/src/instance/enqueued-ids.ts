/** Which ids a transaction's enqueue calls got: known once its group is numbered. */
import type { IdRun } from '../storage/id-runs.ts';
import type { StagedRun } from './staged-transaction.ts';

/** `runOfCall` has, for each call, the index of its run. */
export function enqueuedIds(runs: readonly StagedRun[], runOfCall: readonly number[]): IdRun[] {
  if (runs.length === 1) {
    const { shard, firstSeq, count } = runs[0]!;
    return [{ shard: shard.no, firstSeq, count }];
  }
  const next = runs.map((run) => run.firstSeq);
  const ids: IdRun[] = [];
  let last = -1;
  for (const index of runOfCall) {
    const seq = next[index]!;
    next[index] = seq + 1;
    if (index === last) ids.at(-1)!.count += 1;
    else ids.push({ shard: runs[index]!.shard.no, firstSeq: seq, count: 1 });
    last = index;
  }
  return ids;
}
