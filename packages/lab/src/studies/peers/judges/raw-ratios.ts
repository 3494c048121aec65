/** Judges of rates as a share of what SQLite does alone: P1 to P5 and P7. */
import type { ClaimClause, Point } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample } from '../../../judging/point-samples.ts';
import type { QueueJudge } from '../../../judging/queue-points.ts';
import { provenanceOf } from '../../../judging/queue-points.ts';
import { rawRatio } from '../../../judging/queue-samples.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import type { QueueParams } from '../../../programs/queue/points/queue-params.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';
import { closedLoopPoints } from './load-points.ts';
import { targets } from './targets.ts';

const of = (points: readonly QueuePoint[], system: string, params: Partial<QueueParams>) =>
  points.filter(
    (point) =>
      point.system === system &&
      Object.entries(params).every(([name, value]) => point.params[name as keyof QueueParams] === value),
  );

interface RawTarget {
  statement: string;
  unit: string;
  over: number;
}

/** None if the point has no raw probes. */
function clausesOf(point: QueuePoint, { statement, unit, over }: RawTarget): ClaimClause[] {
  const sample = rawRatio(point);
  if (sample.repeats.length === 0) return [];
  const provenance = provenanceOf([point]);
  const numbers = `${perSec(point.dequeuePerSec)}, pair by pair with the raw probes beside each trial.`;
  return [clauseOf({ statement, unit, sample, over, provenance, numbers })];
}

const ofR =
  (params: Partial<QueueParams>, target: RawTarget, words: string): QueueJudge =>
  (points) => {
    const clauses = of(points, 'sharded', params).flatMap((point) => clausesOf(point, target));
    return clauses.length > 0
      ? clauses
      : needs(`Needs points of the sharded queue ${words}, with raw probes.`);
  };

const unit = '× the rows that SQLite inserts alone (R)';

export const judgeP1 = ofR(
  { operationsPerTransaction: 10, instances: 2 },
  { statement: `two instances dequeue at more than ${targets.queue10OfR} R`, unit, over: targets.queue10OfR },
  'on two instances with 10 operations per transaction',
);
export const judgeP2 = ofR(
  { operationsPerTransaction: 1_000, instances: 2 },
  {
    statement: `two instances dequeue at more than ${targets.queue1000OfR} R`,
    unit,
    over: targets.queue1000OfR,
  },
  'on two instances with 1,000 operations per transaction',
);
export const judgeP3 = ofR(
  { operationsPerTransaction: 1, instances: 1 },
  { statement: `one instance dequeues at more than ${targets.queue1OfR} R`, unit, over: targets.queue1OfR },
  'on one instance with 1 operation per transaction',
);
export const judgeP5 = ofR(
  { subscribers: 10, instances: 2 },
  { statement: `ten subscribers receive at more than ${targets.topicOfR} R`, unit, over: targets.topicOfR },
  'as a topic of 10 subscribers on two instances',
);

/** One session that commits one message at a time, and SQLite doing the same. */
export const judgeP4: Judge = (all) => {
  const points = closedLoopPoints(all, 'enqueue-then-dequeue').filter(
    ({ system, params }) =>
      system === 'sharded' && params.enqueuers === 1 && params.operationsPerTransaction === 1,
  );
  const clauses = points.flatMap((point: Point) => {
    const sample = figureSample(point, 'rawRatio');
    if (sample.repeats.length === 0) return [];
    return [
      clauseOf({
        statement: 'one session commits at more than half the rate of the raw loop',
        unit: '× the transactions of one row that SQLite commits alone',
        sample,
        over: targets.singleOfRaw,
        provenance: 'measured',
        numbers: `${perSec(point.figures.enqueuePerSec?.value ?? 0)}.`,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points of one enqueuer with 1 operation per transaction, with raw probes.');
};

/** Every size of transactions that was measured, of sessions that commit for themselves and of one writer that commits for all. */
export const judgeP7: QueueJudge = (points) => {
  const clauses = ['unsharded', 'unsharded-grouped'].flatMap((system) =>
    of(points, system, { instances: 1 }).flatMap((point) =>
      clausesOf(point, {
        statement: `${system}, with ${point.params.operationsPerTransaction.toLocaleString('en-US')} a transaction`,
        unit: '× the rows that SQLite inserts, selects and deletes alone',
        over: targets.unshardedOfRaw,
      }),
    ),
  );
  return clauses.length > 0 ? clauses : needs('Needs points of the unsharded queue with raw probes.');
};
