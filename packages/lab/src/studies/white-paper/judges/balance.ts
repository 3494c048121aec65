/** Claims A3, A6 and A19: whether dequeuers keep up with the same number of enqueuers. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import { inQueueMin } from '../../../judging/comparison.ts';
import {
  baselinesOf,
  distinct,
  familiesOf,
  inCondition,
  pointInWords,
  provenanceOf,
  type QueueJudge,
  sharded,
  underLoad,
} from '../../../judging/queue-points.ts';
import {
  dequeues,
  enqueues,
  keepUpMin,
  keepUpNoise,
  keptUp,
  lowestBy,
  shareInQueue,
  slopeOf,
} from '../../../judging/queue-samples.ts';
import { combined, geometricMean } from '../../../judging/sample.ts';
import { percent } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';
import { whitePaper } from '../document/document-figures.ts';

export const judgeA3: QueueJudge = (points) =>
  judgeKeepingUp(
    sharded(points).filter((point) => point.dequeuePerSec <= whitePaper.shardedDequeuePerSec),
    'dequeues per enqueue',
  );

export const judgeA19: QueueJudge = (points) =>
  judgeKeepingUp(sharded(points), 'share of the required deliveries');

function judgeKeepingUp(points: readonly QueuePoint[], unit: string): readonly ClaimClause[] {
  const clauses = familiesOf(points).flatMap(({ points: family, words, provenance }): ClaimClause[] => {
    if (distinct(family, 'threads').length < 2) return [];
    const worst = lowestBy(family, (point) => keptUp(point).value)!;
    const clause = clauseOf({
      condition: words,
      statement: 'dequeuers keep up at every point',
      unit,
      sample: keptUp(worst),
      over: keepUpMin,
      noise: keepUpNoise,
      provenance,
      digits: 3,
      numbers: `The lowest of ${family.length} points is ${fixed(keptUp(worst).value)} (${pointInWords(worst)}), reduced by the time in which its enqueuers were paused.`,
    });
    if (clause.verdict === 'does-not-hold' && keptUp(worst).value + inFlightShare(worst) >= keepUpMin)
      return [{ ...clause, verdict: 'inconclusive', reason: `${clause.reason} ${inFlightWords}` }];
    const busiest = Math.max(...underLoad(family).map((point) => shareInQueue(point).value));
    if (busiest >= inQueueMin || clause.verdict !== 'holds') return [clause];
    return [
      clauseWithout('not-comparable', {
        ...clause,
        reason: `${clause.reason} But sessions spend at most ${percent(busiest)} of their time in the queue: with so little load dequeuers always keep up.`,
      }),
    ];
  });
  return clauses.length > 0 ? clauses : needs('Needs sharded points of at least two thread counts.');
}

const inFlightWords =
  'But so few messages were enqueued that those in flight at the edges of the window explain the difference.';

/**
 * The share of enqueued messages that may be in flight at the edges of the window: one transaction per enqueuer, which
 * is enqueued inside the window and consumed after it, or the other way round. Large if a slow point enqueued little.
 */
function inFlightShare({ params, enqueuePerSec, repeats }: QueuePoint): number {
  const measuredMs = Math.min(...repeats.map((repeat) => repeat.measuredMs));
  const enqueued = (enqueuePerSec * measuredMs) / 1000;
  return enqueued === 0 ? 1 : Math.min(1, (params.threads * params.operationsPerTransaction) / enqueued);
}

/** Slopes of enqueue and dequeue that differ by less than this count as equal. */
const slopeDifferenceMax = 0.15;
/** An enqueue rate with this slope "scales". */
const slopeMin = 0.5;

/** Judges each number of instances separately, because whether dequeues fall behind depends on it. */
export const judgeA6: QueueJudge = (points) => {
  const clauses = familiesOf(points).flatMap((family) =>
    distinct(family.points, 'instances').flatMap((instances) => {
      const ofCount = family.points.filter(({ params }) => params.instances === instances);
      return baselinesOf(ofCount).flatMap(({ points: plain, words }) =>
        clausesOf(sharded(ofCount), plain, inCondition(family.words, countInWords(instances), words)),
      );
    }),
  );
  return clauses.length > 0
    ? clauses
    : needs(
        'Needs unsharded points with two thread counts and sharded points with three, on the same instances.',
      );
};

function clausesOf(
  split: readonly QueuePoint[],
  plain: readonly QueuePoint[],
  condition: string,
): ClaimClause[] {
  if (distinct(plain, 'threads').length < 2 || distinct(split, 'threads').length < 3) return [];
  const common = { condition, provenance: provenanceOf([...split, ...plain]) };
  const ratios = (all: readonly QueuePoint[]) => combined(underLoad(all).map(keptUp), geometricMean);
  const [enqueueSlope, dequeueSlope] = [slopeOf(split, enqueues), slopeOf(split, dequeues)];
  return [
    clauseOf({
      ...common,
      statement: 'unsharded dequeues fall behind',
      unit: 'unsharded dequeues per enqueue',
      sample: ratios(plain),
      under: keepUpMin,
      noise: keepUpNoise,
      digits: 3,
      numbers: `The mean of ${underLoad(plain).length} points under load.`,
    }),
    clauseOf({
      ...common,
      statement: 'sharded dequeues do not',
      unit: 'sharded dequeues per enqueue',
      sample: ratios(split),
      over: keepUpMin,
      noise: keepUpNoise,
      digits: 3,
    }),
    clauseOf({
      ...common,
      statement: 'the sharded enqueue rate scales',
      unit: 'log-log slope of enqueues',
      sample: enqueueSlope,
      over: slopeMin,
    }),
    clauseOf({
      ...common,
      statement: 'like the dequeue rate',
      unit: 'slope of enqueues − slope of dequeues',
      sample: combined([enqueueSlope, dequeueSlope], ([enqueue, dequeue]) => enqueue! - dequeue!),
      over: -slopeDifferenceMax,
      under: slopeDifferenceMax,
      noise: slopeDifferenceMax / 3,
    }),
  ];
}

const countInWords = (instances: number) => (instances === 1 ? 'one instance' : `${instances} instances`);
