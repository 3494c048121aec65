/** Judges of what the server moves over REST (P21 to P24). */
import { type ClaimClause, figureOf, numberParam, type Point } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample } from '../../../judging/point-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { perSec, plural } from '../../../programs/figures-in-words.ts';
import { closedLoopPoints } from './load-points.ts';
import { targets } from './targets.ts';

type Rate = 'enqueuePerSec' | 'dequeuePerSec';

/** Messages of a call in the targets about batches. */
const batch = 100;
const payloadBytes = 512;

const callOf = ({ params }: Point) => numberParam(params, 'operationsPerTransaction');
const ofSystem = (points: readonly Point[], system: string, messages: number) =>
  points.find((point) => point.system === system && callOf(point) === messages);
const callInWords = (messages: number) => `${plural(messages, 'message')} a call`;

interface Compared {
  condition: string;
  statement: string;
  unit: string;
  over: number;
  ours: readonly [Point, Rate];
  theirs: readonly [Point, Rate];
}

const compared = ({ ours, theirs, ...rest }: Compared): ClaimClause =>
  clauseOf({
    ...rest,
    sample: ratioOf(figureSample(...ours), figureSample(...theirs)),
    provenance: 'measured',
    numbers: `${[ours, theirs].map(([point, rate]) => `${perSec(figureOf(point, rate))} of ${point.system}`).join(' over ')}.`,
  });

export const judgeP21: Judge = (all) => {
  const points = closedLoopPoints(all, 'enqueue');
  const clauses = [1, batch].flatMap((messages) => {
    const [rest, validating] = ['rest', 'rest-validating'].map((id) => ofSystem(points, id, messages));
    if (rest === undefined || validating === undefined) return [];
    return [
      compared({
        condition: callInWords(messages),
        statement: 'the enqueue route keeps up with validation alone',
        unit: '× the requests of the validating route',
        over: targets.restOverValidation,
        ours: [rest, 'enqueuePerSec'],
        theirs: [validating, 'enqueuePerSec'],
      }),
    ];
  });
  return clauses.length > 0 ? clauses : needs('Needs points of enqueues over REST, and of validation alone.');
};

export const judgeP22: Judge = (all) => {
  const rest = ofSystem(closedLoopPoints(all, 'enqueue'), 'rest', batch);
  if (rest === undefined || rest.params.payloadBytes !== payloadBytes)
    return needs(`Needs a point of enqueues over REST, ${batch} of ${payloadBytes} bytes a call.`);
  return [
    clauseOf({
      condition: callInWords(batch),
      statement: 'messages are enqueued in batches',
      unit: 'messages per second',
      sample: figureSample(rest, 'enqueuePerSec'),
      over: targets.restBatchedPerSec,
      provenance: 'measured',
      digits: 0,
    }),
  ];
};

const bothWays = (all: readonly Point[]) => {
  const points = closedLoopPoints(all, 'enqueue-then-dequeue');
  return [1, 2].map((instances) => ofSystem(points, instances === 1 ? 'rest' : 'rest-2', batch));
};

export const judgeP23: Judge = (all) => {
  const [one, two] = bothWays(all);
  if (one === undefined || two === undefined)
    return needs('Needs points of enqueues, then dequeues over REST, on one and on two instances.');
  return (['enqueuePerSec', 'dequeuePerSec'] as const).map((rate) =>
    compared({
      condition: rate === 'enqueuePerSec' ? 'enqueues' : 'dequeues',
      statement: 'a second instance raises the rate',
      unit: '× the rate on one instance',
      over: targets.restSecondInstance,
      ours: [two, rate],
      theirs: [one, rate],
    }),
  );
};

export const judgeP24: Judge = (all) => {
  const points = bothWays(all).flatMap((point) => point ?? []);
  if (points.length === 0) return needs('Needs points of enqueues, then dequeues over REST.');
  return points.map((point) =>
    compared({
      condition: point.system,
      statement: 'dequeues keep pace with enqueues',
      unit: '× the enqueue rate',
      over: targets.restDequeues,
      ours: [point, 'dequeuePerSec'],
      theirs: [point, 'enqueuePerSec'],
    }),
  );
};
