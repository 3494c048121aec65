/** Judges claims by the points that a run has so far. Pure. */
import type { ClaimResult, Point } from '@shardlab/contract';
import { judgeA3, judgeA6, judgeA19 } from './balance.ts';
import { claims } from './claims.ts';
import { judgeW8 } from './conversion.ts';
import { judgeA7, judgeA14, judgeA17 } from './cpu.ts';
import { judgeW7 } from './failover.ts';
import { inconclusive, isFaulty, type Judge, type JudgeContext } from './judgement.ts';
import { judgeA9, judgeA18 } from './response.ts';
import { judgeA1, judgeA4, judgeA13, judgeA15 } from './scaling.ts';
import { judgeA8, judgeA10 } from './spread.ts';
import { judgeA2, judgeA5, judgeA11, judgeA12, judgeA16 } from './throughput.ts';
import { judgeW1, judgeW2, judgeW3, judgeW4, judgeW5, judgeW6, judgeW9, judgeW10 } from './word-judges.ts';

export type { JudgeContext };

interface ClaimJudge {
  /** Only points with this type of queue are considered. */
  queueType: 'queue' | 'topic';
  judge: Judge;
  /** The claim is about integrity itself, so points with integrity faults are judged too. */
  aboutIntegrity?: true;
}

const ofQueue = (judge: Judge): ClaimJudge => ({ queueType: 'queue', judge });
const ofTopic = (judge: Judge): ClaimJudge => ({ queueType: 'topic', judge });

const judges: Readonly<Record<string, ClaimJudge>> = {
  A1: ofQueue(judgeA1),
  A2: ofQueue(judgeA2),
  A3: ofQueue(judgeA3),
  A4: ofQueue(judgeA4),
  A5: ofQueue(judgeA5),
  A6: ofQueue(judgeA6),
  A7: ofQueue(judgeA7),
  A8: ofQueue(judgeA8),
  A9: ofQueue(judgeA9),
  A10: ofQueue(judgeA10),
  A11: ofQueue(judgeA11),
  A12: ofTopic(judgeA12),
  A13: ofTopic(judgeA13),
  A14: ofTopic(judgeA14),
  A15: ofTopic(judgeA15),
  A16: ofTopic(judgeA16),
  A17: ofTopic(judgeA17),
  A18: ofTopic(judgeA18),
  A19: ofTopic(judgeA19),
  W1: ofQueue(judgeW1),
  W2: ofQueue(judgeW2),
  W3: ofTopic(judgeW3),
  W4: ofQueue(judgeW4),
  W5: ofQueue(judgeW5),
  W6: ofQueue(judgeW6),
  W7: { ...ofQueue(judgeW7), aboutIntegrity: true },
  W8: { ...ofQueue(judgeW8), aboutIntegrity: true },
  W9: ofQueue(judgeW9),
  W10: ofQueue(judgeW10),
};

/**
 * The verdicts of the given claims, in that order. A point with an integrity fault proves nothing, so one such point
 * makes every claim inconclusive, except claims about integrity itself.
 */
export function judgeClaims(
  ids: readonly string[],
  points: readonly Point[],
  context: JudgeContext,
): ClaimResult[] {
  const faulty = points.filter(isFaulty);
  return ids.map((id) => {
    const claim = claims.find((known) => known.id === id);
    const judging = judges[id];
    if (claim === undefined || judging === undefined) throw new RangeError(`no judge for claim ${id}`);
    const judgement =
      faulty.length > 0 && judging.aboutIntegrity !== true
        ? inconclusive(
            '',
            `Messages were lost, duplicated, damaged or out of order at ${faulty.length} of the points.`,
          )
        : judging.judge(pointsOfQueueType(points, judging.queueType), context);
    return { ...claim, ...judgement };
  });
}

const pointsOfQueueType = (points: readonly Point[], queueType: ClaimJudge['queueType']) =>
  points.filter((point) => (point.params.subscribers !== undefined) === (queueType === 'topic'));
