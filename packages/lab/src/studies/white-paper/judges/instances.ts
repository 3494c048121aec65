/** Claim A5: on how many instances the unsharded queue is fastest, and why. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import {
  againstEachBaseline,
  best,
  inCondition,
  pointInWords,
  type QueueJudge,
  topWaitInWords,
} from '../../../judging/queue-points.ts';
import { busyCores, dequeues, shareOfWaits, writeLockElsewhere } from '../../../judging/queue-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { percent, perSec } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';
import { hasWriteLock } from '../../../systems/queue-systems.ts';
import { whitePaper } from '../document/document-figures.ts';

/** One instance is as busy as its one thread can be. */
const busyMin = 0.85;
/** Sessions wait for each other if such waits are at least this share of the queue's waits. */
const lockShareMin = 0.5;

/** They wait for other instances if these have the lock for at least this share of that time. */
const elsewhereShareMin = 0.5;

export const judgeA5: QueueJudge = (points) => {
  const clauses = againstEachBaseline(
    points,
    ({ words: trip, provenance }, { system, points: plain, words }): ClaimClause[] => {
      const one = best(plain.filter(({ params }) => params.instances === 1));
      // With fewer threads than instances some instances are idle, so the point does not have that many instances.
      const several = best(
        plain.filter(({ params: { instances, threads } }) => instances > 1 && threads >= instances),
      );
      if (one === null || several === null) return [];
      const common = { condition: inCondition(trip, words), provenance };
      return [
        clauseOf({
          ...common,
          statement: 'several instances are slower than one',
          unit: '× the best rate of several instances',
          sample: ratioOf(dequeues(one), dequeues(several)),
          over: 1,
          numbers: `Best on one instance ${perSec(one.dequeuePerSec)} (${pointInWords(one)}), on several ${perSec(several.dequeuePerSec)} (${pointInWords(several)}).`,
        }),
        clauseOf({
          ...common,
          statement: 'because their sessions wait for each other',
          unit: 'of its waits are for other sessions',
          sample: shareOfWaits((wait) => wait.class === 'concurrency')(several),
          over: lockShareMin,
          numbers: `Several instances wait most for ${topWaitInWords(several)}.`,
        }),
        ...(hasWriteLock(system) ? [heldElsewhere(several, common)] : []),
        clauseOf({
          ...common,
          statement: 'one instance stays below 8,000 dequeues/s',
          unit: 'dequeues/s',
          sample: dequeues(one),
          under: whitePaper.unshardedDequeuePerSec,
          digits: 0,
        }),
        clauseOf({
          ...common,
          statement: 'the CPU is the limit on one instance',
          unit: 'cores busy',
          sample: busyCores(one),
          over: busyMin,
          numbers: `Its best point keeps ${fixed(busyCores(one).value)} cores busy.`,
        }),
      ];
    },
  );
  return clauses.length > 0
    ? clauses
    : needs('Needs unsharded points of one and of several instances, with a thread for each.');
};

/** A queue with one writer for all processes has no such clause: its sessions wait for a group, in which all of them are. */
function heldElsewhere(
  several: QueuePoint,
  common: Pick<ClaimClause, 'provenance'> & { condition: string },
): ClaimClause {
  const statement = 'and mostly for those of other instances';
  const sample = writeLockElsewhere(several);
  if (sample.repeats.length === 0)
    return clauseWithout('inconclusive', {
      ...common,
      statement,
      reason:
        'Not measured: these points do not tell how long the lock was held by other instances, and how long by sessions of the same one.',
    });
  return clauseOf({
    ...common,
    statement,
    unit: 'of the wait for the lock is for other instances',
    sample,
    over: elsewhereShareMin,
    numbers: `While its sessions wait for the lock, another instance has it for ${percent(sample.value)} of the time, and a session of the same instance for the rest.`,
  });
}
