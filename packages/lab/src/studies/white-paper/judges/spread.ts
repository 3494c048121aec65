/** Claim A8: whether instances share the work evenly. A10: what limits the sharded queue. */
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import { sameParamsExcept } from '../../../judging/comparison.ts';
import { percent } from '../../../judging/judgement.ts';
import {
  best,
  pointInWords,
  provenanceOf,
  type QueueJudge,
  sharded,
  topWaitInWords,
  underLoad,
} from '../../../judging/queue-points.ts';
import { dequeues, lowestBy, type Quantity, shareOfWaits } from '../../../judging/queue-samples.ts';
import { combined, geometricMean, ratioOf, sampleOf } from '../../../judging/sample.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';
import { cpuFull } from './scaling.ts';

/**
 * Sessions are placed evenly, and each instance has dequeuers for its own messages, so nothing has to be spread: any queue
 * is even. Only sessions placed unevenly would show whether the queue evens out.
 */
export const judgeA8: QueueJudge = (points) => {
  const shared = sharded(points).filter(
    ({ params: { instances, threads }, dequeuePerSec }) =>
      instances > 1 && threads % instances === 0 && dequeuePerSec > 0,
  );
  const worst = lowestBy(shared, evenness);
  if (worst === null)
    return needs('Needs sharded points of several instances with equal numbers of threads.');
  return [
    clauseWithout('not-comparable', {
      statement: 'work is spread evenly',
      reason: `The least busy instance reaches ${fixed(evenness(worst))} of the mean rate or more (${pointInWords(worst)}). But sessions are placed evenly here, and unsharded queues are as even: the queue has nothing to spread.`,
    }),
  ];
};

/** The lowest rate of an instance as a share of the mean rate; 1 is perfectly even. */
function evenness({ dequeuePerSecByInstance: rates }: QueuePoint): number {
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return mean === 0 ? 0 : Math.min(...rates) / mean;
}

/** The two events are the limit if they make up at least this share of the waiting time. */
const limitShareMin = 0.5;
/** Without syncs, the rate is at least this many times as high. */
const gainWithoutSyncMin = 1.25;

const isLimit = ({ event }: { event: string }) =>
  event === 'log file sync' || event === 'partition maintenance';
const limitShare = shareOfWaits(isLimit);
/** Share of the sessions' whole time that the two events take. */
const limitTime: Quantity = (point) =>
  sampleOf(
    point.repeats.map(({ waitMs, measuredMs }) => {
      const { threads, subscribers = 1 } = point.params;
      const limitMs = (waitMs['log file sync'] ?? 0) + (waitMs['partition maintenance'] ?? 0);
      return limitMs / (threads * (1 + subscribers) * measuredMs);
    }),
  );

/**
 * Waits alone do not show a limit, since sessions that are faster elsewhere wait longer here. The time of a sync is varied
 * instead: relaxed messages are written the same way and not synced.
 */
export const judgeA10: QueueJudge = (points, { cores }) => {
  const durable = sharded(points).filter(({ params }) => params.durability === 'durable');
  const top = best(durable);
  const pairs = underLoad(durable).flatMap((synced) => {
    const unsynced = sharded(points).find(
      (point) => point.params.durability === 'relaxed' && sameParamsExcept('durability', point, synced),
    );
    return unsynced === undefined ? [] : [{ synced, unsynced }];
  });
  if (top === null || pairs.length === 0)
    return needs(
      'Needs sharded points that differ only in being durable or relaxed, so that the time of a sync varies.',
    );
  const ofCores = cores === null ? '' : `; ${fixed(top.coresBusy)} of ${cores} cores are busy`;
  const provenance = provenanceOf(durable);
  const gain = combined(
    pairs.map(({ synced, unsynced }) => ratioOf(dequeues(unsynced), dequeues(synced))),
    geometricMean,
  );
  // What a session does besides these waits remains: without them it is at most this much faster.
  const possible = combined(
    pairs.map(({ synced }) => limitTime(synced)),
    (shares) => 1 / Math.max(0.02, 1 - geometricMean(shares)),
  );
  const clauses = [
    clauseOf({
      statement: 'sessions wait mostly for commits and partition maintenance',
      unit: 'of the waiting time',
      sample: combined(
        pairs.map(({ synced }) => limitShare(synced)),
        geometricMean,
      ),
      over: limitShareMin,
      digits: 3,
      provenance,
      numbers: `At the best point they wait most for ${topWaitInWords(top)} (${pointInWords(top)}${ofCores}).`,
    }),
    clauseOf({
      statement: 'without syncs it is faster',
      unit: '× the rate with syncs',
      sample: gain,
      over: gainWithoutSyncMin,
      provenance,
      numbers: `The mean of ${pairs.length} pairs under load.`,
    }),
    clauseOf({
      statement: 'by no more than these waits explain',
      unit: '× the gain that the waiting time allows',
      sample: ratioOf(gain, possible),
      under: 1.1,
      provenance,
      numbers: `Commits and partition maintenance take ${percent(1 - 1 / possible.value)} of the sessions' time.`,
    }),
  ];
  if (
    cores === null ||
    top.coresBusy < cpuFull * cores ||
    clauses.every(({ verdict }) => verdict === 'holds')
  )
    return clauses;
  const reason = `${fixed(top.coresBusy)} of ${cores} cores are busy at the best point, so the CPU is the limit here; the document's systems used ${percent(0.1)} of theirs.`;
  return clauses.map((clause) => ({ ...clause, verdict: 'not-comparable', reason }));
};
