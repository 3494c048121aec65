/** Judges claims on the points that a run has so far. Pure: the same points give the same verdicts anywhere. */
import type { ClaimResult, Point } from '@shardlab/contract';
import { judgeA3, judgeA6 } from './balance.ts';
import { inconclusive, type Judge, type JudgeContext } from './judgement.ts';
import { claims } from './ledger.ts';
import { judgeA1, judgeA4 } from './scaling.ts';
import { judgeA2, judgeA5 } from './throughput.ts';

export type { JudgeContext };

const judges: Readonly<Record<string, Judge>> = {
  A1: judgeA1,
  A2: judgeA2,
  A3: judgeA3,
  A4: judgeA4,
  A5: judgeA5,
  A6: judgeA6,
};

/**
 * The verdict of each claim named, in that order. A point whose integrity is faulty proves nothing: while there is one,
 * every claim is inconclusive.
 */
export function judgeClaims(
  ids: readonly string[],
  points: readonly Point[],
  context: JudgeContext,
): ClaimResult[] {
  const faulty = points.filter(({ integrity: { lost, duplicated, damaged, outOfOrder } }) =>
    [lost, duplicated, damaged, outOfOrder].some((count) => count > 0),
  );
  return ids.map((id) => {
    const claim = claims.find((known) => known.id === id);
    const judge = judges[id];
    if (claim === undefined || judge === undefined) throw new RangeError(`no judge for claim ${id}`);
    const judgement =
      faulty.length > 0
        ? inconclusive(
            '',
            `Messages were lost, doubled, damaged or out of order at ${faulty.length} of the points.`,
          )
        : judge(points, context);
    return { ...claim, ...judgement };
  });
}
