import type { QueueJudge } from '../../judging/queue-points.ts';
import { queuePointOf } from '../../programs/queue/queue-point.ts';
import type { Claim } from '../study.ts';

/** Judges the points of queues only, or of topics only: a claim is about one of them. */
export const ofType =
  (type: 'queue' | 'topic', judge: QueueJudge): Claim['judge'] =>
  (points, context) =>
    judge(points.filter(({ program }) => program === type).map(queuePointOf), context);
