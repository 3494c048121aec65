/** Judges of the claims that are about exact counts: D5, D6 and D8. */
import { type ClaimClause, numberParam, type Point } from '@shardlab/contract';
import { needs } from '../../../judging/clause.ts';
import { type Expected, exactClauses } from '../../../judging/exact-counts.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { pipelineCaseFigures } from '../../../programs/pipelining/case-figures.ts';
import type { PipelineCaseName } from '../../../programs/pipelining/cases.ts';
import { casePoints } from './pipelining-points.ts';
import { starvationClauses } from './starvation.ts';

interface ExactCase {
  name: PipelineCaseName;
  statement: string;
  /** Expected counts by the name of the figure. */
  expected(point: Point): Readonly<Record<string, Expected>>;
}

function judgeCases(all: readonly Point[], cases: readonly ExactCase[]): readonly ClaimClause[] {
  if (cases.some(({ name }) => casePoints(all, name).length === 0))
    return needs(`Needs points of ${cases.length === 1 ? 'its case' : `all ${cases.length} cases`}.`);
  return cases.flatMap(({ name, statement, expected }) =>
    casePoints(all, name).flatMap((point) =>
      exactClauses([point], { statement, expected: expected(point), figures: pipelineCaseFigures }),
    ),
  );
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
        sortedBeforeLeaving: 1,
        deliveredBeforeUrgent: [Math.min(10, pipelineOf(point)), pipelineOf(point)],
      }),
    },
  ]);

const off = { refused: 0, prefetching: 0 };
const refused = { refused: 1, prefetching: 1 };

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
    expected: (point) => ({ inPipeline: messagesOf(point) - 1, leftToAnother: 0 }),
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
