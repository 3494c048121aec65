/** Claims A1 and A15: a straight log-log line over threads, and no regression as instances are added. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import { inQueueMin } from '../../../judging/comparison.ts';
import {
  distinct,
  type Family,
  familiesOf,
  type QueueJudge,
  sharded,
} from '../../../judging/queue-points.ts';
import {
  bendOf,
  busyCores,
  dequeues,
  enqueues,
  highestBy,
  lowestBy,
  type Quantity,
  shareInQueue,
  slopeOf,
  stepsOverInstances,
} from '../../../judging/queue-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { percent } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';
import { whitePaper } from '../document/document-figures.ts';

/** Smallest slope: below it, doubling the threads multiplies the rate by less than 1.6, unlike the figure. */
const slopeMin = 0.7;
/** Largest deviation from a straight line. For comparison: a queue that saturates at half of its last point deviates by 30 %. */
const deviationMax = 0.25;
/** Minimum share of the rate that must remain when instances are added at equal threads: losing a sixth does not change the shape. */
const keptMin = 0.85;
/** A rate this near to threads × one-thread rate is what the clients alone explain, if their sessions spend most of their time outside of the queue. */
const pacedWithin = 0.2;

export const judgeA1: QueueJudge = (points) => {
  const upTo32 = sharded(points).filter(({ params }) => params.threads <= whitePaper.threadsMax);
  const clauses = familiesOf(upTo32).flatMap(clausesOfFamily);
  return clauses.length > 0
    ? clauses
    : needs(
        'Needs sharded points with at least three thread counts up to 32 on the same number of instances, and with two instance counts at the same number of threads.',
      );
};

function clausesOfFamily({ points, words, provenance }: Family): ClaimClause[] {
  const lines = distinct(points, 'instances')
    .map((instances) => points.filter(({ params }) => params.instances === instances))
    .filter((line) => distinct(line, 'threads').length >= 3);
  const slopes = lines.map((line) => ({ line, slope: slopeOf(line, dequeues) }));
  const flattest = lowestBy(slopes, ({ slope }) => slope.value);
  const steps = stepsOverInstances(points, dequeues);
  if (flattest === null || steps.length === 0) return [];
  const common = { condition: words, provenance };
  const bent = highestBy(
    lines.map((line) => ({ line, bend: bendOf(line, dequeues) })),
    ({ bend }) => bend.value,
  )!;
  const worst = lowestBy(steps, ({ ratio }) => ratio.value)!;
  return [
    clauseOf({
      ...common,
      statement: 'the rate rises with threads',
      unit: 'log-log slope',
      sample: flattest.slope,
      over: slopeMin,
      digits: 3,
      numbers: `The slopes are ${slopes.map(({ line, slope }) => `${fixed(slope.value)} on ${count(line)}`).join(', ')}.`,
    }),
    clauseOf({
      ...common,
      statement: 'in a straight line',
      unit: 'largest deviation from the line',
      sample: bent.bend,
      under: deviationMax,
      digits: 3,
      numbers: `The points of ${count(bent.line)} deviate by up to ${percent(bent.bend.value)}.`,
    }),
    clauseOf({
      ...common,
      statement: 'adding instances does not lower it',
      unit: '× the rate with fewer instances',
      sample: worst.ratio,
      over: keptMin,
      numbers: `${changeInWords(worst.ratio.value)} from ${worst.from} to ${worst.to} instances at equal threads.`,
    }),
    ...pacedByClients(points, dequeues, common),
  ];
}

/**
 * The null model: if each thread brings the rate of one thread, and sessions are hardly ever in the queue, then the clients
 * set the pace, and any queue that is fast enough draws the same line.
 */
function pacedByClients(
  points: readonly QueuePoint[],
  of: Quantity,
  common: Pick<ClaimClause, 'condition' | 'provenance'>,
): ClaimClause[] {
  const one = points.find(({ params }) => params.threads === 1 && params.instances === 1);
  const most = highestBy(points, ({ params }) => params.threads - params.instances / 100);
  if (one === undefined || most === null || most === one) return [];
  const { threads } = most.params;
  const share = ratioOf(of(most), of(one)).value / threads;
  const inQueue = shareInQueue(most).value;
  if (Math.abs(share - 1) > pacedWithin || inQueue >= inQueueMin) return [];
  return [
    clauseWithout('not-comparable', {
      ...common,
      statement: 'the queue sets the pace, not its clients',
      reason: `${threads} threads reach ${fixed(share)} of ${threads} times the rate of one, and their sessions spend only ${percent(inQueue)} of their time in the queue: a queue that does nothing would draw this line too.`,
    }),
  ];
}

/** Above this share of busy cores the CPU is the limit, whatever the queue does. */
export const cpuFull = 0.85;

/** The enqueue rate of the sharded topic: each instance count compared with the next lower one. */
export const judgeA15: QueueJudge = (points, { cores }) => {
  const clauses = familiesOf(sharded(points)).flatMap(({ points: family, words, provenance }) => {
    const worst = lowestBy(stepsOverInstances(family, enqueues), ({ ratio }) => ratio.value);
    if (worst === null) return [];
    const clause = clauseOf({
      condition: words,
      statement: 'adding instances does not lower the enqueue rate',
      unit: '× the enqueue rate with fewer instances',
      sample: worst.ratio,
      over: keptMin,
      provenance,
      numbers: `${changeInWords(worst.ratio.value)} from ${worst.from} to ${worst.to} instances at equal threads.`,
    });
    const busiest = Math.max(
      ...family.filter(({ params }) => params.instances === worst.to).map((point) => busyCores(point).value),
    );
    const paced = pacedByClients(family, enqueues, { condition: words, provenance });
    if (cores === null || busiest < cpuFull * cores || clause.verdict === 'holds') return [clause, ...paced];
    return [
      clauseWithout('not-comparable', {
        ...clause,
        reason: `${clause.reason} But ${fixed(busiest)} of ${cores} cores are busy, so that added instances have nothing to run on.`,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points of a sharded topic with two instance counts at the same number of threads.');
};

const changeInWords = (ratio: number) =>
  ratio < 1
    ? `The rate falls by ${percent(1 - ratio)}`
    : `The rate falls nowhere: at least ${fixed(ratio)} times`;
const count = ([first]: readonly QueuePoint[]) =>
  first!.params.instances === 1 ? 'one instance' : `${first!.params.instances} instances`;
