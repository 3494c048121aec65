/** Claims A2, A11, A12, A16: sharded rates compared with the document's. A5: where the unsharded queue is fastest. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, fixed, needs, onLessHardware } from '../../../judging/clause.ts';
import type { JudgeContext } from '../../../judging/judgement.ts';
import { perSec } from '../../../judging/judgement.ts';
import {
  againstEachBaseline,
  best,
  inCondition,
  largeBatchMin,
  pointInWords,
  provenanceOf,
  type QueueJudge,
  sharded,
  topWaitInWords,
} from '../../../judging/queue-points.ts';
import {
  busyCores,
  dequeues,
  highestBy,
  keepUpMin,
  keepUpNoise,
  keptUp,
  operations,
  type Quantity,
  shareOfWaits,
} from '../../../judging/queue-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';
import { whitePaper } from '../document-figures.ts';

/** "Near" and "about" a figure: nine tenths of it, or more. */
const nearShare = 0.9;

interface RateClaim {
  statement: string;
  unit: string;
  needs: string;
  bar: number;
  select(point: QueuePoint): boolean;
  rate: Quantity;
}

/**
 * An absolute rate of the document, at a point where dequeuers keep up; smaller hardware is not expected to reach it.
 * Remote sessions are a condition of their own: the document's clients are remote.
 */
const judgeRate =
  (claim: RateClaim): QueueJudge =>
  (points, context) => {
    const places = Map.groupBy(sharded(points).filter(claim.select), ({ params }) => params.sessions);
    const clauses = [...places].flatMap(([place, ofPlace]) =>
      rateClauses(ofPlace, claim, { condition: `${place ?? 'embedded'} sessions`, ...context }),
    );
    return clauses.length > 0 ? clauses : needs(claim.needs);
  };

function rateClauses(
  points: readonly QueuePoint[],
  { statement, unit, bar, rate }: RateClaim,
  { condition, cores }: JudgeContext & { condition: string },
): ClaimClause[] {
  const top = highestBy(points, (point) => rate(point).value);
  if (top === null) return [];
  const { nodes, coresPerNode } = whitePaper;
  const onCores = `${cores ?? 'an unknown number of'} ${cores === 1 ? 'core' : 'cores'}`;
  const common = { condition, provenance: provenanceOf([top]) };
  const reached = clauseOf({
    ...common,
    statement,
    unit,
    sample: rate(top),
    over: bar,
    digits: 0,
    numbers: `The best sharded point reaches ${perSec(rate(top).value)} on ${onCores} (${pointInWords(top)}); the document's system has ${nodes} nodes of ${coresPerNode} cores.`,
  });
  const asMany = cores !== null && cores >= nodes * coresPerNode;
  return [
    asMany || reached.verdict === 'inconclusive'
      ? reached
      : onLessHardware(reached, 'Such an absolute rate cannot be judged on this machine.'),
    clauseOf({
      ...common,
      statement: 'dequeuers keep up at that rate',
      unit: 'share of the required deliveries',
      sample: keptUp(top),
      over: keepUpMin,
      noise: keepUpNoise,
    }),
  ];
}

const isLarge = ({ params }: QueuePoint) => params.operationsPerTransaction >= largeBatchMin;
const isSmall = (point: QueuePoint) => !isLarge(point);

export const judgeA2 = judgeRate({
  statement: 'the rate is reached',
  unit: 'dequeues/s',
  needs: 'Needs sharded points.',
  bar: whitePaper.shardedDequeuePerSec,
  select: isSmall,
  rate: dequeues,
});

export const judgeA12 = judgeRate({
  statement: `nine tenths of ${perSec(whitePaper.topicDequeuePerSec)} are reached`,
  unit: 'dequeues/s',
  needs: 'Needs points of a sharded topic.',
  bar: nearShare * whitePaper.topicDequeuePerSec,
  select: isSmall,
  rate: dequeues,
});

const judgeTopicBatches = judgeRate({
  statement: `nine tenths of ${perSec(whitePaper.topicLargeBatchOperationsPerSec)} are reached`,
  unit: 'enqueues and dequeues/s',
  needs: `Needs points of a sharded topic with at least ${largeBatchMin} operations per transaction.`,
  bar: nearShare * whitePaper.topicLargeBatchOperationsPerSec,
  select: isLarge,
  rate: operations,
});

export const judgeA16: QueueJudge = (points, context) => [
  ...judgeTopicBatches(points, context),
  ...gainOfBatches(points, operations),
];

const judgeQueueBatches = judgeRate({
  statement: `nine tenths of ${perSec(whitePaper.largeBatchDequeuePerSec)} are reached`,
  unit: 'dequeues/s',
  needs: `Needs points of a sharded queue with at least ${largeBatchMin} operations per transaction.`,
  bar: nearShare * whitePaper.largeBatchDequeuePerSec,
  select: isLarge,
  rate: dequeues,
});

/** "Even better" than with ten operations per transaction. */
const batchGainMin = 1.1;
/** Partition maintenance is the limit if it is at least this share of the queue's waits. */
const limitShareMin = 0.5;

/** Besides the rate: larger batches are faster, and partition maintenance is the limit. */
export const judgeA11: QueueJudge = (points, context) => {
  const top = best(sharded(points).filter(isLarge));
  if (top === null) return judgeQueueBatches(points, context);
  return [
    ...judgeQueueBatches(points, context),
    clauseOf({
      condition: `${top.params.sessions ?? 'embedded'} sessions`,
      statement: 'partition maintenance is the limit',
      unit: 'of its waits are partition maintenance',
      sample: shareOfWaits(({ event }) => event === 'partition maintenance')(top),
      over: limitShareMin,
      provenance: provenanceOf([top]),
      numbers: `Sessions wait most for ${topWaitInWords(top)} (${pointInWords(top)}).`,
    }),
    ...gainOfBatches(points, dequeues),
  ];
};

function gainOfBatches(points: readonly QueuePoint[], rate: Quantity): ClaimClause[] {
  const large = highestBy(sharded(points).filter(isLarge), (point) => rate(point).value);
  const small = highestBy(
    sharded(points).filter((point) => isSmall(point) && point.params.sessions === large?.params.sessions),
    (point) => rate(point).value,
  );
  if (large === null || small === null) return [];
  return [
    clauseOf({
      condition: `${large.params.sessions ?? 'embedded'} sessions`,
      statement: 'larger batches are faster',
      unit: '× the best rate with small batches',
      sample: ratioOf(rate(large), rate(small)),
      over: batchGainMin,
      provenance: provenanceOf([large, small]),
      numbers: `${perSec(rate(large).value)} with ${large.params.operationsPerTransaction} operations per transaction, ${perSec(rate(small).value)} with ${small.params.operationsPerTransaction}.`,
    }),
  ];
}

/** One instance is as busy as its one thread can be. */
const busyMin = 0.85;
/** Sessions wait for each other if such waits are at least this share of the queue's waits. */
const lockShareMin = 0.5;

export const judgeA5: QueueJudge = (points) => {
  const clauses = againstEachBaseline(
    points,
    ({ words: trip, provenance }, { points: plain, words }): ClaimClause[] => {
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
