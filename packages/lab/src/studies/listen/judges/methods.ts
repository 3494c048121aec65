/** Judges of the claims about what to do instead: dequeue by name (L4), and copies of the hot object (L7). */
import { type ClaimClause, figureOf, type Point } from '@shardlab/contract';
import { clauseOf, needs } from '../../../judging/clause.ts';
import { exactClauses } from '../../../judging/exact-counts.ts';
import type { Judge, JudgeContext } from '../../../judging/judgement.ts';
import { figureSample, provenanceOfPoints } from '../../../judging/point-samples.ts';
import { combined, ratioOf, type Sample, sampleOf } from '../../../judging/sample.ts';
import { percent } from '../../../programs/figures-in-words.ts';
import { listenCaseFigures } from '../../../programs/listen/case-figures.ts';
import { listenFigures } from '../../../programs/listen/listen-figures.ts';
import { listenDocument } from '../document/document-figures.ts';
import {
  casePoints,
  comparable,
  conditionOf,
  copiesOf,
  hasFigure,
  linesBy,
  methodOf,
  pairsOf,
} from './listen-points.ts';

/** For each repeat, sleeps for the mutex per thousand dequeues. Zero is a valid value. */
function sleepsOf(point: Point): Sample {
  const [sleeps, gets, per] = ['mutexSleeps', 'mutexGets', 'mutexGetsPerDequeue'].map((name) =>
    figureSample(point, name),
  );
  return combined([sleeps!, gets!, per!], ([slept, got, each]) => (1_000 * slept! * each!) / got!);
}

const sleepsInWords = (point: Point) =>
  `${sampleOf(sleepsOf(point).repeats).value.toFixed(1)} sleeps per 1,000 dequeues, ${percent(figureOf(point, 'mutexWaitShare'))} of the time${forCoresInWords(point)}`;

const forCoresInWords = (point: Point) =>
  hasFigure(point, 'runnableShare')
    ? `, ${percent(figureOf(point, 'runnableShare'))} ready and waiting for a core`
    : '';

/** Without sleeps to compare with there is nothing to cut. */
const hasSleeps = (point: Point) => figureOf(point, 'mutexSleeps') > 0;

/** The document reports 0.26 of the waits. */
const fractionMax = 0.5;

export const judgeL4: Judge = (all, context) => {
  const clauses = [
    ...exactClauses(casePoints(all, 'ten-listens'), {
      statement: 'ten listens take 30 gets of the latch',
      expected: { latchGets: 30 },
      figures: listenCaseFigures,
    }),
    ...exactClauses(casePoints(all, 'ten-dequeues-by-name'), {
      statement: 'ten dequeues by name take none',
      expected: { latchGets: 0 },
      figures: listenCaseFigures,
    }),
    ...linesBy(all, 'method').flatMap((line) => compareMethods(line, context)),
  ];
  const isWhole = ['ten-listens', 'ten-dequeues-by-name'].every((name) =>
    all.some(({ params }) => params.case === name),
  );
  if (isWhole || clauses.some(({ unit }) => unit === mutexUnit)) return clauses;
  return needs('Needs points of ten listens and ten dequeues by name, or of both methods under load.');
};

const mutexUnit = '× the sleeps per dequeue';

function compareMethods(line: readonly Point[], context: JudgeContext): ClaimClause[] {
  const [listen, subscriber] = (['listen', 'subscriber'] as const).map((method) =>
    line.find((point) => methodOf(point) === method),
  );
  if (listen === undefined || subscriber === undefined || copiesOf(listen) !== 1) return [];
  const condition = `${pairsOf(listen)} pairs, ${conditionOf(listen)}`;
  const latch = exactClauses([subscriber], {
    statement: 'dequeues by name take no latch',
    expected: { latchGets: 0 },
    figures: listenFigures,
  }).map((clause) => ({ ...clause, condition }));
  if (!hasSleeps(listen)) return latch;
  const { listen: documentListen, subscriber: documentSubscriber } = listenDocument.report;
  const waits = clauseOf({
    condition,
    statement: 'by name they wait less than half as often for the mutex',
    unit: mutexUnit,
    sample: ratioOf(sleepsOf(subscriber), sleepsOf(listen)),
    under: fractionMax,
    provenance: provenanceOfPoints([listen, subscriber]),
    numbers: `Listen: ${sleepsInWords(listen)}; by name: ${sleepsInWords(subscriber)}. In the document ${percent(documentListen.mutex.shareOfTime)} and ${percent(documentSubscriber.mutex.shareOfTime)} of the time; the bar is ours.`,
  });
  return [...latch, comparable(waits, [listen, subscriber], context)];
}

export const judgeL7: Judge = (all, context) => {
  const copies = linesBy(all, 'copies').flatMap((line) => {
    const sorted = line.toSorted((a, b) => copiesOf(a) - copiesOf(b));
    const [one, most] = [sorted[0]!, sorted.at(-1)!];
    if (copiesOf(one) !== 1 || one === most || !hasSleeps(one)) return [];
    const clause = clauseOf({
      condition: `${pairsOf(one)} pairs, ${methodOf(one)}, ${conditionOf(one)}`,
      statement: `${copiesOf(most)} copies cut the waits for the mutex`,
      unit: mutexUnit,
      sample: ratioOf(sleepsOf(most), sleepsOf(one)),
      under: 1,
      provenance: provenanceOfPoints(sorted),
      numbers: `${sorted.map((point) => `${copiesOf(point)}: ${sleepsInWords(point)}`).join('; ')}.`,
    });
    return [comparable(clause, sorted, context)];
  });
  const subscribers = all.filter((point) => point.program === 'listen' && methodOf(point) === 'subscriber');
  const latch = exactClauses(subscribers, {
    statement: 'subscribers instead of listen remove the latch',
    expected: { latchGets: 0 },
    figures: listenFigures,
  });
  return copies.length > 0 && latch.length > 0
    ? [...copies, ...latch]
    : needs(
        'Needs points with one copy, on which sessions sleep for the mutex, and with more, and points of subscribers.',
      );
};
