/**
 * Judges of the document's statements about a singleton service (S1 to S4). The reference, one singleton in each process, is not
 * judged.
 */
import { type ClaimClause, numberParam, type Point, yesOrNo } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import { type ExactFigure, exactFigure } from '../../../judging/exact-counts.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample } from '../../../judging/point-samples.ts';
import { singletonService } from '../../../programs/singleton/singleton-program.ts';
import { documentValues } from '../document/document-values.ts';

const conditions: Readonly<Record<string, string>> = {
  none: 'left alone',
  stop: 'after a stop',
  kill: 'after a kill',
  hang: 'after it hung',
  wake: 'when it hangs and wakes',
  kills: 'killed again and again',
};

/** The document gives no time: the bar is ours, and the engine says what it needs (`docs/decisions/singleton-services.md`). */
const gapMsMax = 5_000;

const servicePoints = (points: readonly Point[]) =>
  points.filter(({ program, system }) => program === 'singleton' && system === singletonService.id);

const faultOf = ({ params }: Point) => String(params.fault);
const isKept = ({ params }: Point) => params.state === 'kept';

function conditionOf(point: Point): string {
  const kept = isKept(point) ? ', its state kept' : '';
  return `${conditions[faultOf(point)] ?? faultOf(point)}, ${numberParam(point.params, 'instances')} instances${kept}`;
}

const has = ({ figures }: Point, name: string) => (figures[name]?.repeats.length ?? 0) > 0;

const exactly = (point: Point, facts: Omit<ExactFigure, 'condition'>) =>
  exactFigure(point, { condition: conditionOf(point), ...facts });

export const judgeS1: Judge = (all) => {
  const clauses = servicePoints(all).flatMap((point): ClaimClause[] => [
    ...exactly(point, {
      name: 'activeAtOnceMs',
      value: 0,
      statement: 'at no time are two active',
      unit: 'ms with two active',
    }),
    ...exactly(point, {
      name: 'writtenTwice',
      value: 0,
      statement: 'no two write the same',
      unit: 'writes of two',
    }),
  ]);
  return clauses.length > 0 ? clauses : needs('Needs points of the service.');
};

export const judgeS2: Judge = (all) => {
  const clauses = servicePoints(all)
    .filter((point) => has(point, 'gapMaxMs'))
    .map((point) =>
      clauseOf({
        condition: conditionOf(point),
        statement: 'it is active again elsewhere',
        unit: 'ms at most without an active service',
        sample: figureSample(point, 'gapMaxMs'),
        under: gapMsMax,
        provenance: 'measured',
        numbers: `Median ${Math.round(figureSample(point, 'gapMs').value)} ms. The document names no time; the bar is ours.`,
        digits: 0,
      }),
    )
    // The first of the clauses that decide gives the claim its number: the worst.
    .toSorted((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const present = new Set(servicePoints(all).map(faultOf));
  return present.has('stop') && present.has('kill') && clauses.length > 0
    ? clauses
    : needs('Needs points of a stop and of a kill.');
};

export const judgeS3: Judge = (all) => {
  const clauses = servicePoints(all).flatMap((point): ClaimClause[] => [
    ...exactly(point, {
      name: 'seenByOther',
      value: documentValues.sum,
      statement: 'what one client has added another reads',
      unit: '= 5 + 8',
    }),
    ...(has(point, 'seenAfterMove')
      ? exactly(point, {
          name: 'seenAfterMove',
          value: isKept(point) ? documentValues.sum : documentValues.start,
          statement: isKept(point)
            ? 'after the move it still reads that'
            : 'after the move it reads what activate sets',
          unit: 'read after the move',
        })
      : []),
  ]);
  return clauses.length > 0 ? clauses : needs('Needs points of the service.');
};

export const judgeS4: Judge = (all) => {
  const clauses = servicePoints(all).flatMap((point): ClaimClause[] => [
    ...exactly(point, {
      name: 'startedOnPreferred',
      value: 1,
      statement: 'it is first active on its preferred instance',
      unit: yesOrNo,
    }),
    ...(has(point, 'returned')
      ? exactly(point, {
          name: 'returned',
          value: 1,
          statement: 'it goes back once the preferred process has returned (our addition)',
          unit: yesOrNo,
        })
      : []),
  ]);
  return clauses.length > 0 ? clauses : needs('Needs points of the service.');
};
