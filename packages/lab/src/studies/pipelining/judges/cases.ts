/** Judges of the claims that are about exact counts: D5, D6 and D8. */
import { type ClaimClause, numberParam, type Point } from '@shardlab/contract';
import { clauseOf, failed, needs } from '../../../judging/clause.ts';
import { countInWords } from '../../../judging/exact-counts.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { combined } from '../../../judging/sample.ts';
import { pipelineCaseFigures } from '../../../programs/pipelining/case-figures.ts';
import type { PipelineCaseName } from '../../../programs/pipelining/cases.ts';
import { casePoints, figureSample, provenanceOfPoints } from './pipelining-points.ts';
import { starvationClauses } from './starvation.ts';

interface ExactCase {
  name: PipelineCaseName;
  statement: string;
  /** Minimum and maximum of each figure, by name. */
  expected(point: Point): Readonly<Record<string, readonly [least: number, most: number]>>;
}

/** A single repeat that is off refutes it. */
function exactClauses(all: readonly Point[], { name, statement, expected }: ExactCase): ClaimClause[] {
  return casePoints(all, name).map((point) => {
    const ranges = Object.entries(expected(point));
    const off = combined(
      ranges.map(([figure]) => figureSample(point, figure)),
      (values) =>
        values.reduce((sum, value, index) => {
          const [least, most] = ranges[index]![1];
          return sum + Math.max(0, least - value, value - most);
        }, 0),
    );
    const clause = clauseOf({
      statement,
      unit: 'counts too many or too few',
      sample: off,
      under: 1,
      provenance: provenanceOfPoints([point]),
      numbers: `${ranges.map(([figure]) => countInWords(point, figure, pipelineCaseFigures)).join(', ')}.`,
      digits: 0,
    });
    return off.repeats.some((value) => value > 0)
      ? failed(clause, `not in every repeat ${statement}`)
      : clause;
  });
}

function judgeCases(all: readonly Point[], cases: readonly ExactCase[]): readonly ClaimClause[] {
  if (cases.some(({ name }) => casePoints(all, name).length === 0))
    return needs(`Needs points of ${cases.length === 1 ? 'its case' : `all ${cases.length} cases`}.`);
  return cases.flatMap((each) => exactClauses(all, each));
}

const pipelineOf = ({ params }: Point) => numberParam(params, 'messagesMaximum');
const messagesOf = ({ params }: Point) => numberParam(params, 'messages');

export const judgeD5: Judge = (all) =>
  judgeCases(all, [
    {
      name: 'urgent-after-leaving',
      statement:
        'the most urgent message leaves first, and a more urgent one that comes later is behind what is in the pipeline',
      // A fair pipeline of a consumer that has taken one message holds 10.
      expected: (point) => ({
        sortedBeforeLeaving: [1, 1],
        deliveredBeforeUrgent: [Math.min(10, pipelineOf(point)), pipelineOf(point)],
      }),
    },
  ]);

const off = { refused: [0, 0], prefetching: [0, 0] } as const;
const refused = { refused: [1, 1], prefetching: [1, 1] } as const;

export const judgeD6: Judge = (all) =>
  judgeCases(all, [
    {
      name: 'branch-before-receive',
      statement: 'a distributed transaction before the first receive switches prefetch off silently',
      expected: () => off,
    },
    {
      name: 'branch-after-receive',
      statement: 'a distributed transaction after the first receive is refused',
      expected: () => refused,
    },
    {
      name: 'second-consumer-before-receive',
      statement: 'a second consumer before the first receive switches prefetch off silently',
      expected: () => off,
    },
    {
      name: 'second-consumer-after-receive',
      statement: 'a second consumer after the first receive is refused',
      expected: () => refused,
    },
  ]);

const starvationCases: readonly ExactCase[] = [
  {
    name: 'huge-pipeline',
    statement:
      'a pipeline that is filled at once has all messages in its memory, and another consumer gets none',
    expected: (point) => ({
      inPipeline: [messagesOf(point) - 1, messagesOf(point) - 1],
      leftToAnother: [0, 0],
    }),
  },
  {
    name: 'huge-fair-pipeline',
    statement: 'one that grows with its consumer leaves at least nine tenths to another',
    expected: (point) => ({ leftToAnother: [Math.ceil(0.9 * messagesOf(point)), messagesOf(point) - 1] }),
  },
];

/** Counts of the cases, and rates: a run may have either. */
export const judgeD8: Judge = (all) => {
  const rates = starvationClauses(all);
  const hasCases = starvationCases.some(({ name }) => casePoints(all, name).length > 0);
  return hasCases || rates.length === 0 ? [...judgeCases(all, starvationCases), ...rates] : rates;
};
