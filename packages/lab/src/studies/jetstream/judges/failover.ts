/** Judges of the statements of `docs/distributed.md` about failing servers (J1 to J3). */
import type { ClaimClause, Point } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import { exactFigure } from '../../../judging/exact-counts.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample } from '../../../judging/point-samples.ts';
import { documentValues } from '../document/document-values.ts';

const conditions: Readonly<Record<string, string>> = {
  none: 'without a fault',
  kill: 'each server killed in turn',
  pause: 'each server suspended in turn',
  partition: 'each server cut off in turn',
};

const pointsOf = (all: readonly Point[]) => all.filter(({ program }) => program === 'jetstream-failover');
const conditionOf = ({ params, system }: Point) =>
  `${conditions[String(params.fault)] ?? String(params.fault)}, ${system}`;

/** Faults are needed: without one, any system loses and doubles nothing. */
const judgeOf =
  (clausesOf: (point: Point) => readonly ClaimClause[]): Judge =>
  (all) => {
    const points = pointsOf(all).filter(({ params }) => params.fault !== 'none');
    return points.length > 0 ? points.flatMap(clausesOf) : needs('Needs points with faults.');
  };

const none = (name: string, statement: string, unit: string): Judge =>
  judgeOf((point) => exactFigure(point, { condition: conditionOf(point), name, value: 0, statement, unit }));

export const judgeJ1 = none('lost', 'no acknowledged message is lost', 'messages lost');
export const judgeJ2 = none('doubled', 'none is consumed again after a confirmation', 'messages doubled');

export const judgeJ3: Judge = judgeOf((point) => [
  clauseOf({
    condition: conditionOf(point),
    statement: 'enqueues are acknowledged again',
    unit: 'ms without an acknowledged enqueue, at most',
    sample: figureSample(point, 'gapMs'),
    under: documentValues.electionMsMax,
    provenance: 'measured',
    digits: 0,
  }),
]);
