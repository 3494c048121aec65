/** Claims A2, A11, A12, A16: sharded rates compared with the document's. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, needs, onLessHardware } from '../../../judging/clause.ts';
import type { JudgeContext } from '../../../judging/judgement.ts';
import {
  best,
  largeBatchMin,
  pointInWords,
  provenanceOf,
  type QueueJudge,
  sessionsInWords,
  sharded,
  topWaitInWords,
} from '../../../judging/queue-points.ts';
import {
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
import { perSec } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';
import { whitePaper } from '../document/document-figures.ts';

/** "About" a figure: nine tenths of it, or more. */
const aboutShare = 0.9;
/** "Near" a figure: within a tenth of it. */
const near = (figure: number) => ({ bar: Math.round(0.9 * figure), most: Math.round(1.1 * figure) });

interface RateClaim {
  statement: string;
  unit: string;
  needs: string;
  bar: number;
  /** The other end of a band: a rate above it is another one than the document's. */
  most?: number;
  select(point: QueuePoint): boolean;
  rate: Quantity;
}

/**
 * An absolute rate of the document, at a point where dequeuers keep up; smaller hardware is not expected to reach it.
 * Conditions are the place of the sessions, since the document's clients are remote, and whether each message has a transaction
 * of its own.
 */
const judgeRate =
  (claim: RateClaim): QueueJudge =>
  (points, context) => {
    const ways = Map.groupBy(sharded(points).filter(claim.select), sessionsInWords);
    const clauses = [...ways].flatMap(([condition, ofWay]) =>
      rateClauses(ofWay, claim, { condition, ...context }),
    );
    return clauses.length > 0 ? clauses : needs(claim.needs);
  };

function rateClauses(
  points: readonly QueuePoint[],
  { statement, unit, bar, most, rate }: RateClaim,
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
    ...(most === undefined ? {} : { under: most }),
    digits: 0,
    numbers: `The best sharded point reaches ${perSec(rate(top).value)} on ${onCores} (${pointInWords(top)}); the document's system has ${nodes} nodes of ${coresPerNode} cores.`,
  });
  const asMany = cores !== null && cores >= nodes * coresPerNode;
  const isPast = most !== undefined && rate(top).value > most;
  const ofMachine = asMany || reached.verdict === 'inconclusive';
  return [
    isPast
      ? { ...reached, reason: `${reached.reason} A higher rate has another limit than the document's.` }
      : ofMachine
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
  bar: aboutShare * whitePaper.topicDequeuePerSec,
  select: isSmall,
  rate: dequeues,
});

const judgeTopicBatches = judgeRate({
  statement: `nine tenths of ${perSec(whitePaper.topicLargeBatchOperationsPerSec)} are reached`,
  unit: 'enqueues and dequeues/s',
  needs: `Needs points of a sharded topic with at least ${largeBatchMin} operations per transaction.`,
  bar: aboutShare * whitePaper.topicLargeBatchOperationsPerSec,
  select: isLarge,
  rate: operations,
});

export const judgeA16: QueueJudge = (points, context) => [
  ...judgeTopicBatches(points, context),
  ...gainOfBatches(points, operations),
];

const judgeQueueBatches = judgeRate({
  statement: `the highest rate is near ${perSec(whitePaper.largeBatchDequeuePerSec)}, within a tenth of it`,
  unit: 'dequeues/s',
  needs: `Needs points of a sharded queue with at least ${largeBatchMin} operations per transaction.`,
  ...near(whitePaper.largeBatchDequeuePerSec),
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
      condition: sessionsInWords(top),
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
      condition: sessionsInWords(large),
      statement: 'larger batches are faster',
      unit: '× the best rate with small batches',
      sample: ratioOf(rate(large), rate(small)),
      over: batchGainMin,
      provenance: provenanceOf([large, small]),
      numbers: `${perSec(rate(large).value)} with ${large.params.operationsPerTransaction} operations per transaction, ${perSec(rate(small).value)} with ${small.params.operationsPerTransaction}.`,
    }),
  ];
}
