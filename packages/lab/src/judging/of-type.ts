import { queuePointOf } from '../programs/queue/points/queue-point.ts';
import { needs } from './clause.ts';
import { examine, inMemory, undurable, unseenByKernel } from './evidence.ts';
import type { Judge } from './judgement.ts';
import type { QueueJudge } from './queue-points.ts';

/**
 * Judges the points of queues only, or of topics only: a claim is about one of them. Points whose measurements contradict
 * each other decide nothing, nor do durable messages that a kill was seen to lose. `isKilled`: runs that test the claim kill a
 * trial of each system; those with faults or a conversion do not.
 */
export const ofType =
  (type: 'queue' | 'topic', judge: QueueJudge, { isKilled = true } = {}): Judge =>
  (points, context) => {
    const whole = points.filter(({ program }) => program === type);
    const typed = whole.map(queuePointOf);
    const { points: agreeing, doubt } = examine(typed, context.cores);
    const reason = inMemory(typed, context) ?? doubt ?? (isKilled ? undurable(typed) : null);
    if (reason !== null) return needs(reason);
    const unseen = unseenByKernel(whole);
    return judge(agreeing, context).map((clause) =>
      unseen === null || clause.verdict !== 'holds'
        ? clause
        : { ...clause, reason: `${clause.reason} Weak: ${unseen}` },
    );
  };
