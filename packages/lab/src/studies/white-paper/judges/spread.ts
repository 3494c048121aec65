/** Claim A8: whether instances share the work evenly. A10: what limits the sharded queue. */
import { isDeepStrictEqual } from 'node:util';
import { type ClaimClause, threadsByInstance } from '@shardlab/contract';
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import { inQueueMin, sameParamsExcept } from '../../../judging/comparison.ts';
import {
  best,
  pointInWords,
  provenanceOf,
  type QueueJudge,
  sharded,
  topWaitInWords,
  underLoad,
} from '../../../judging/queue-points.ts';
import { dequeues, lowestBy, quantity, shareInQueue, shareOfWaits } from '../../../judging/queue-samples.ts';
import { combined, geometricMean, ratioOf } from '../../../judging/sample.ts';
import { percent } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';
import { cpuFull } from './scaling.ts';

/** A session of an instance that dequeues at least this share of what the mean session does is served as well as others. */
const evenShareMin = 0.8;

/**
 * Where sessions are placed evenly, any queue is even. Where most are on one instance, the work is spread well if those of
 * no instance are left behind: an instance that is served in equal turns with a larger one, or waits for it, has another rate per session.
 */
export const judgeA8: QueueJudge = (points, { cores }) => {
  const several = sharded(points).filter(
    ({ params: { instances }, dequeuePerSec }) => instances > 1 && dequeuePerSec > 0,
  );
  const clauses = [
    ...evenlyPlaced(several.filter((point) => !isSkewed(point))),
    ...unevenlyPlaced(several.filter(isSkewed), points.filter(isSkewed), cores),
  ];
  return clauses.length > 0
    ? clauses
    : needs(
        'Needs sharded points of several instances, with equal numbers of threads or most of them on one.',
      );
};

const isSkewed = ({ params }: QueuePoint): boolean => params.placement === 'skewed';

function evenlyPlaced(points: readonly QueuePoint[]): ClaimClause[] {
  const worst = lowestBy(
    points.filter(({ params: { instances, threads } }) => threads % instances === 0),
    (point) => shareOfSlowest(point).value,
  );
  if (worst === null) return [];
  return [
    clauseWithout('not-comparable', {
      condition: 'sessions placed evenly',
      statement: 'work is spread evenly',
      reason: `The least busy instance reaches ${fixed(shareOfSlowest(worst).value)} of the mean rate or more (${pointInWords(worst)}). But unsharded queues are as even: the queue has nothing to spread.`,
    }),
  ];
}

function unevenlyPlaced(
  points: readonly QueuePoint[],
  ofAllSystems: readonly QueuePoint[],
  cores: number | null,
): ClaimClause[] {
  const worst = lowestBy(points, (point) => shareOfSlowest(point).value);
  if (worst === null) return [];
  const sample = shareOfSlowest(worst);
  const beside = ofAllSystems
    .filter(({ system, params }) => system !== 'sharded' && isDeepStrictEqual(params, worst.params))
    .map((point) => ` That share is ${fixed(shareOfSlowest(point).value)} with ${point.system}.`);
  const clause = clauseOf({
    condition: 'three quarters of the sessions on one instance',
    statement: 'sessions of every instance dequeue alike',
    unit: '× the mean rate of a session, on the instance where it is lowest',
    sample,
    over: evenShareMin,
    provenance: provenanceOf([worst]),
    numbers: `Instances have ${threadsInWords(worst)} threads, and a session of the slowest one dequeues at ${fixed(sample.value)} of the mean rate of a session (${pointInWords(worst)}).${beside.join('')}`,
  });
  const inQueue = shareInQueue(worst).value;
  if (clause.verdict === 'holds' && inQueue < inQueueMin)
    return [
      clauseWithout('not-comparable', {
        ...clause,
        reason: `${clause.reason} But sessions spend only ${percent(inQueue)} of their time in the queue, so that its clients set the pace.`,
      }),
    ];
  if (clause.verdict === 'does-not-hold' && cores !== null && worst.coresBusy >= cpuFull * cores)
    return [
      clauseWithout('not-comparable', {
        ...clause,
        reason: `${clause.reason} But ${fixed(worst.coresBusy)} of ${cores} cores are busy: the instance with more sessions has no core of its own here.`,
      }),
    ];
  return [clause];
}

/** "12 and 4" */
const threadsInWords = ({ params }: QueuePoint): string => {
  const counts = threadsByInstance(params);
  return `${counts.slice(0, -1).join(', ')} and ${counts.at(-1)}`;
};

/** The rate of a session on the instance where it is lowest, as a share of the mean rate of all sessions; 1 is perfectly even. */
const shareOfSlowest = quantity(({ dequeuePerSecByInstance: rates }, { params }) => {
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  if (total === 0) return 0;
  const threads = threadsByInstance(params);
  return Math.min(...rates.map((rate, index) => rate / threads[index]!)) / (total / params.threads);
});

/** The two events are the limit if they make up at least this share of the waiting time. */
const limitShareMin = 0.5;
/** Without syncs, the rate is at least this many times as high. */
const gainWithoutSyncMin = 1.25;

const isLimit = ({ event }: { event: string }) =>
  event === 'log file sync' || event === 'partition maintenance';
const limitShare = shareOfWaits(isLimit);
/** Share of the sessions' whole time that the two events take. */
const limitTime = quantity(({ waitMs, measuredMs }, { params }) => {
  const { threads, subscribers = 1 } = params;
  const limitMs = (waitMs['log file sync'] ?? 0) + (waitMs['partition maintenance'] ?? 0);
  return limitMs / (threads * (1 + subscribers) * measuredMs);
});

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
  // A session's other work remains: without these waits it is at most this much faster.
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
