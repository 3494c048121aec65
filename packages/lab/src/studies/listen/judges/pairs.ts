/** Judges of the claims about the number of sessions: L1, L2, L3 and L6. */
import { figureOf, type Point } from '@shardlab/contract';
import { fitLogLog } from '@shardlab/model';
import { clauseOf, needs } from '../../../judging/clause.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { figureSample, provenanceOfPoints } from '../../../judging/point-samples.ts';
import { combined, ratioOf, type Sample } from '../../../judging/sample.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import { type GuardName, getsOfCase2, listenDocument, modelGets } from '../document/document-figures.ts';
import { comparable, conditionOf, listenLines, pairsOf } from './listen-points.ts';

const { peakSessions } = listenDocument;
const guards: readonly GuardName[] = ['mutex', 'latch'];

export const judgeL1: Judge = (all, context) => {
  const clauses = listenLines(all).flatMap((line) => {
    const [first, last] = [line[0]!, line.at(-1)!];
    const peak = line.find((point) => pairsOf(point) === peakSessions);
    if (peak === undefined || first === peak || last === peak) return [];
    const rate = (point: Point) => figureSample(point, 'dequeuePerSec');
    const numbers = `${line.map((point) => `${pairsOf(point)}: ${perSec(figureOf(point, 'dequeuePerSec'))}`).join(', ')}.`;
    const facts = {
      condition: conditionOf(first),
      unit: '×',
      over: 1,
      numbers,
      provenance: provenanceOfPoints(line),
    };
    return [
      clauseOf({
        ...facts,
        statement: `more with ${peakSessions} pairs than with ${pairsOf(first)}`,
        sample: ratioOf(rate(peak), rate(first)),
      }),
      clauseOf({
        ...facts,
        statement: `more with ${peakSessions} pairs than with ${pairsOf(last)}`,
        sample: ratioOf(rate(peak), rate(last)),
      }),
    ].map((clause) => comparable(clause, line, context));
  });
  return clauses.length > 0
    ? clauses
    : needs(
        `Needs points that listen with fewer than ${peakSessions} pairs of sessions, with as many, and with more.`,
      );
};

/** Slope of a log-log line through all points, in each repeat. */
function slopeOf(line: readonly Point[], figure: string): Sample {
  return combined(
    line.map((point) => figureSample(point, figure)),
    (values) => fitLogLog(values.map((y, index) => ({ x: pairsOf(line[index]!), y })))?.slope ?? Number.NaN,
  );
}

const pointsMin = 3;
/** The document's table has powers of 0.68 for both from 2 sessions on, and calls that almost linear. */
const linear = { from: 0.5, to: 1.2 };

export const judgeL2: Judge = (all, context) => {
  const clauses = listenLines(all).flatMap((whole) => {
    const line = whole.filter((point) => pairsOf(point) > 1);
    if (line.length < pointsMin) return [];
    return guards.map((guard) =>
      comparable(
        clauseOf({
          condition: conditionOf(line[0]!),
          statement: `gets of the ${guard} for each dequeue rise about linearly`,
          unit: 'power of the sessions',
          sample: slopeOf(line, `${guard}GetsPerDequeue`),
          over: linear.from,
          under: linear.to,
          provenance: provenanceOfPoints(line),
          numbers: `${getsInWords(line, guard)}. The document's table has a power of 0.68; the bars are ours.`,
        }),
        line,
        context,
      ),
    );
  });
  return clauses.length > 0
    ? clauses
    : needs(`Needs points that listen with at least ${pointsMin} numbers of pairs from 2 on.`);
};

const getsInWords = (line: readonly Point[], guard: GuardName) =>
  line
    .map((point) => `${pairsOf(point)}: ${figureOf(point, `${guard}GetsPerDequeue`).toFixed(1)}`)
    .join(', ');

export const judgeL3: Judge = (all, context) => {
  const clauses = listenLines(all).flatMap((whole) => {
    const [up, past] = [
      whole.filter((point) => pairsOf(point) <= peakSessions),
      whole.filter((point) => pairsOf(point) >= peakSessions),
    ];
    if (up.length < 2 || past.length < 2) return [];
    return guards.flatMap((guard) => {
      const figure = `${guard}NsPerDequeue`;
      const facts = { condition: conditionOf(whole[0]!), provenance: provenanceOfPoints(whole) };
      const steeper = combined(
        [slopeOf(past, figure), slopeOf(up, figure)],
        ([after, before]) => after! - before!,
      );
      const numbers = `${whole.map((point) => `${pairsOf(point)}: ${Math.round(figureOf(point, figure) / 1_000)} µs`).join(', ')}.`;
      return [
        clauseOf({
          ...facts,
          statement: `past ${peakSessions} pairs the time for the ${guard} grows faster than the sessions`,
          unit: 'power of the sessions',
          sample: slopeOf(past, figure),
          over: 1,
          numbers,
        }),
        clauseOf({
          ...facts,
          statement: `past ${peakSessions} pairs the time for the ${guard} grows faster than up to ${peakSessions}`,
          unit: 'difference of the powers',
          sample: steeper,
          over: 0,
          noise: 0.1,
        }),
      ].map((clause) => comparable(clause, whole, context));
    });
  });
  return clauses.length > 0
    ? clauses
    : needs(
        `Needs points that listen with two numbers of pairs up to ${peakSessions}, and two from there on.`,
      );
};

/** The document's own check counts 1.19 times what its model computes, and calls that close. */
const closeTo = { from: 0.8, to: 1.25 };

export const judgeL6: Judge = (all, context) => {
  const clauses = listenLines(all).flatMap((line) =>
    guards.map((guard) => {
      const most = line.at(-1)!;
      const sessions = pairsOf(most);
      const gets = figureSample(most, `${guard}GetsPerDequeue`);
      const factor = modelGets[guard];
      const shares = line
        .map(
          (point) =>
            `${pairsOf(point)}: ${(figureOf(point, `${guard}GetsPerDequeue`) / (factor * pairsOf(point))).toFixed(2)}`,
        )
        .join(', ');
      return comparable(
        clauseOf({
          condition: conditionOf(most),
          statement: `${sessions} sessions take ${factor}·N gets of the ${guard} for each dequeue`,
          unit: '× the model',
          sample: combined([gets], ([value]) => value! / (factor * sessions)),
          over: closeTo.from,
          under: closeTo.to,
          provenance: provenanceOfPoints([most]),
          numbers: `Measured ÷ model by pairs: ${shares}; at the last, ${deviationInWords(most, guard)}. ${documentInWords(guard)}`,
        }),
        [most],
        context,
      );
    }),
  );
  return clauses.length > 0 ? clauses : needs('Needs points that listen with several numbers of pairs.');
};

/**
 * Why a busy session takes fewer gets than each post would cost: posts that fall together wake it once. Wake-ups for nothing are
 * counted, and computed from the gets as if there were no other reason for more than case 2 has.
 */
function deviationInWords(point: Point, guard: GuardName): string {
  const per = (name: string) => figureOf(point, name).toFixed(2);
  const fromGets = (figureOf(point, `${guard}GetsPerDequeue`) - getsOfCase2[guard]) / modelGets[guard];
  return [
    `${per('wakeUpsPerDequeue')} wake-ups a dequeue instead of ${pairsOf(point)}`,
    `${per('postsPerWakeUp')} posts in each`,
    `${per('falseWakeUpsPerDequeue')} for nothing, ${fromGets.toFixed(2)} by the gets of the ${guard}`,
    `misses ${figureOf(point, `${guard}Misses`)}, sleeps ${figureOf(point, `${guard}Sleeps`)}`,
  ].join('; ');
}

/**
 * Compares the document's own table with its model, and shows what each of its columns implies about wake-ups; for the latch also
 * the document's check.
 */
function documentInWords(guard: GuardName): string {
  const { table, check } = listenDocument;
  const last = table.at(-1)!;
  const share = last[`${guard}GetsPerDequeue`] / (modelGets[guard] * last.sessions);
  const wakeUps = table
    .slice(1)
    .map((row) => (row[`${guard}Gets`] / row.messages - getsOfCase2[guard]) / modelGets[guard])
    .map((value) => value.toFixed(1));
  const sentences = [
    `The document's own table has ${share.toFixed(2)} at ${last.sessions}`,
    `by its gets of the ${guard} a dequeue was woken for nothing ${wakeUps.join(', ')} times with ${table[1]!.sessions} to ${last.sessions} sessions`,
  ];
  if (guard === 'latch')
    sentences.push(
      `its check counts ${(check.counted / check.computed).toFixed(2)} × the model, ${(check.counted / check.withMisses).toFixed(2)} × with ${check.misses.toLocaleString('en-US')} misses added`,
    );
  return `${sentences.join('; ')}.`;
}
