/** Judges of the claims that are about exact counts of single calls: L5, L8, L9 and L10. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import { type ExactCounts, exactClauses } from '../../../judging/exact-counts.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample, provenanceOfPoints } from '../../../judging/point-samples.ts';
import { listenCaseFigures } from '../../../programs/listen/case-figures.ts';
import type { CaseName } from '../../../programs/listen/cases.ts';
import { listenDocument } from '../document/document-figures.ts';
import { casePoints } from './listen-points.ts';

type Stage = 'waiting' | 'woken' | '';
/** Locks, pins, latch gets, mutex gets. */
type Counts = readonly [number, number, number, number];

const countsOf = (stages: Partial<Record<Stage, Counts>>) =>
  Object.fromEntries(
    Object.entries(stages).flatMap(([stage, counts]) =>
      ['locks', 'pins', 'latchGets', 'mutexGets'].map((name, at) => [
        stage === '' ? name : `${stage}${name[0]!.toUpperCase()}${name.slice(1)}`,
        counts[at]!,
      ]),
    ),
  );

const waiting: Counts = [2, 2, 1, 12];
const fourCases: readonly (Omit<ExactCounts, 'figures'> & { name: CaseName })[] = [
  {
    name: 'message-there',
    statement: 'case 1: 2 locks, 3 pins, 3 latch gets, 18 mutex gets',
    expected: countsOf({ '': [2, 3, 3, 18] }),
  },
  {
    name: 'message-comes',
    statement: 'case 2: 2, 2, 1, 12 while it waits; 4, 5, 9, 30 with the message',
    expected: countsOf({ waiting, '': [4, 5, 9, 30] }),
  },
  {
    name: 'message-for-another',
    statement:
      'case 3: 2, 2, 1, 12 while it waits; 4, 4, 7, 24 after the other message; 6, 7, 15, 42 in the end',
    expected: countsOf({ waiting, woken: [4, 4, 7, 24], '': [6, 7, 15, 42] }),
  },
  {
    name: 'time-out',
    statement: 'case 4: 2, 2, 1, 12 while it waits; 2, 2, 3, 12 after the time-out, which is an error',
    expected: { ...countsOf({ waiting, '': [2, 2, 3, 12] }), timedOut: 1 },
  },
];

export const judgeL5: Judge = (all) => {
  if (fourCases.some(({ name }) => casePoints(all, name).length === 0))
    return needs('Needs points of all four cases.');
  return fourCases.flatMap((each) =>
    exactClauses(casePoints(all, each.name), { ...each, figures: listenCaseFigures }),
  );
};

export const judgeL8: Judge = (all) => {
  const { temporaryMade, temporaryKept } = listenDocument;
  const clauses = exactClauses(casePoints(all, 'unknown-recipients'), {
    statement: `${temporaryMade} temporary subscribers are made and ${temporaryKept} kept, and one subscriber too many is refused`,
    expected: { temporaryMade, temporaryKept, subscribersRefused: 1 },
    figures: listenCaseFigures,
  });
  return clauses.length > 0 ? clauses : needs('Needs points with unknown recipients.');
};

export const judgeL9: Judge = (all) => {
  const [others, uncommitted] = [
    casePoints(all, 'message-for-another'),
    casePoints(all, 'uncommitted-dequeue'),
  ];
  if (others.length === 0 || uncommitted.length === 0)
    return needs('Needs points of a message for another, and of an uncommitted dequeue.');
  return [
    ...exactClauses(others, {
      statement: "another's message wakes it for nothing",
      expected: { falseWakeUps: 1 },
      figures: listenCaseFigures,
    }),
    ...exactClauses(uncommitted, {
      statement: 'it is told of a message that another has dequeued and not committed, and finds none',
      expected: { told: 1, dequeuedNothing: 1 },
      figures: listenCaseFigures,
    }),
  ];
};

/** A thread is woken later than it asked for on a busy machine, never earlier. */
const late = 1.1;
const early = 0.95;

export const judgeL10: Judge = (all) => {
  const points = casePoints(all, 'idle-polls');
  const clauses = points.flatMap((point) =>
    (['listen', 'dequeue'] as const).map((call): ClaimClause => {
      const ms = listenDocument.pollMs[call];
      return clauseOf({
        statement: `${call === 'listen' ? 'a listen' : 'a dequeue by name'} polls every ${ms / 1_000} s`,
        unit: 'ms',
        sample: figureSample(point, `${call}PollMs`),
        over: early * ms,
        under: late * ms,
        noise: 0.01 * ms,
        provenance: provenanceOfPoints([point]),
        digits: 0,
      });
    }),
  );
  return clauses.length > 0 ? clauses : needs('Needs points of waits without a message.');
};
