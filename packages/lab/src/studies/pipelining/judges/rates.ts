/** Judges of the claims about rates: D1, D2, D3, D4 and D7. */
import { type ClaimClause, figureOf, type Point } from '@shardlab/contract';
import { clauseOf, needs, onLessHardware } from '../../../judging/clause.ts';
import type { Judge, JudgeContext } from '../../../judging/judgement.ts';
import { figureSample, provenanceOfPoints } from '../../../judging/point-samples.ts';
import { combined, ratioOf } from '../../../judging/sample.ts';
import { percent, perSec, plural } from '../../../programs/figures-in-words.ts';
import {
  configurationOf,
  fillsCores,
  groupsBy,
  pacedOf,
  payloadOf,
  producersOf,
  rateOf,
  subscribersOf,
} from './pipelining-points.ts';

const kilobyte = 1_024;
const largeBytes = 100 * 1_024;

const of = (points: readonly Point[], configuration: string) =>
  points
    .filter((point) => configurationOf(point) === configuration)
    .toSorted((a, b) => producersOf(a) - producersOf(b));
const isUsual = (point: Point) => payloadOf(point) === kilobyte && subscribersOf(point) === 1;
const isPaced = (point: Point) => pacedOf(point) > 0;
const atLoad = (point: Point) => `${pacedOf(point).toLocaleString('en-US')} sends a second of each producer`;
const ratesInWords = (points: readonly Point[]) =>
  `${points.map((point) => `${plural(producersOf(point), 'producer')}: ${perSec(figureOf(point, 'messagesPerSec'))}`).join(', ')}.`;

/** If all cores are busy, more producers take CPU that the consumer needs; the document's machine had cores to spare. */
function comparable(clause: ClaimClause, points: readonly Point[], { cores }: JudgeContext): ClaimClause {
  const full = points.filter((point) => fillsCores(point, cores));
  if (full.length === 0) return clause;
  return onLessHardware(
    clause,
    `But the ${cores} cores are full from ${plural(Math.min(...full.map(producersOf)), 'producer')} on.`,
  );
}

/** At a given load, results with all cores busy prove nothing; otherwise the clause states how much of the cores was used. */
function atGivenLoad(clause: ClaimClause, points: readonly Point[], { cores }: JudgeContext): ClaimClause {
  if (points.some((point) => fillsCores(point, cores)))
    return {
      ...clause,
      verdict: 'not-comparable',
      reason: `${clause.reason} But the ${cores} cores are full.`,
    };
  const used = Math.max(...points.map((point) => figureOf(point, 'cpuCores')));
  return {
    ...clause,
    reason: `${clause.reason} Comparable: ${used.toFixed(1)} of ${cores} cores were used.`,
  };
}

export const judgeD1: Judge = (all) => {
  const clauses = groupsBy(all.filter(isUsual), 'configuration').flatMap((group) => {
    const [[base], [quotas]] = [of(group, 'base'), of(group, 'quotas')];
    if (base === undefined || quotas === undefined) return [];
    const condition = plural(producersOf(base), 'producer');
    const provenance = provenanceOfPoints([base, quotas]);
    const numbers = (figure: string, words: (value: number) => string) =>
      `Base: ${words(figureOf(base, figure))}; quotas: ${words(figureOf(quotas, figure))}.`;
    return [
      clauseOf({
        condition,
        statement: 'quotas cut the deviation of the rate',
        unit: '× the deviation of the base',
        sample: ratioOf(figureSample(quotas, 'rateDeviation'), figureSample(base, 'rateDeviation')),
        under: 1,
        provenance,
        numbers: numbers('rateDeviation', percent),
      }),
      clauseOf({
        condition,
        statement: 'quotas raise the rate',
        unit: '× the rate of the base',
        sample: ratioOf(rateOf(quotas), rateOf(base)),
        over: 1,
        provenance,
        numbers: numbers('messagesPerSec', perSec),
      }),
    ];
  });
  return clauses.length > 0 ? clauses : needs('Needs points with and without quotas.');
};

/** The same level: this share of the best rate with quotas. */
const sameLevel = 0.9;

export const judgeD2: Judge = (all) => {
  const clauses = groupsBy(all.filter(isUsual), 'configuration', 'producers').flatMap((group) => {
    const [quotas, oneWay] = [of(group, 'quotas'), of(group, 'one-way')];
    if (quotas.length < 2 || oneWay.length < 2) return [];
    const rates = [...quotas, ...oneWay].map(rateOf);
    /** Producers that reach the level, one more than the most if none do. */
    const fewest = (points: readonly Point[], values: readonly number[], level: number) => {
      const index = values.findIndex((value) => value >= level);
      return index < 0 ? producersOf(points.at(-1)!) + 1 : producersOf(points[index]!);
    };
    const saved = combined(rates, (values) => {
      const ofQuotas = values.slice(0, quotas.length);
      const level = sameLevel * Math.max(...ofQuotas);
      return fewest(oneWay, values.slice(quotas.length), level) / fewest(quotas, ofQuotas, level);
    });
    return [
      clauseOf({
        statement: `one-way sends reach ${percent(sameLevel)} of the best rate with quotas with fewer producers`,
        unit: '× the producers',
        sample: saved,
        under: 1,
        provenance: provenanceOfPoints(group),
        numbers: `Quotas: ${ratesInWords(quotas)} One-way: ${ratesInWords(oneWay)}`,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points with quotas and with one-way sends, over producers.');
};

/** "Fairly linear": the bar is ours. */
const linearTo4 = 3;
const timesBase = 4;

export const judgeD3: Judge = (all, context) => {
  const clauses = groupsBy(all.filter(isUsual), 'configuration', 'producers').flatMap((group) => {
    const prefetch = of(group, 'prefetch');
    const at = (count: number) => prefetch.find((point) => producersOf(point) === count);
    const [one, four] = [at(1), at(4)];
    if (one === undefined || four === undefined) return [];
    if (isPaced(one)) return [linearAtLoad(one, four, context)];
    const base = of(group, 'base').find((point) => producersOf(point) === 4);
    if (base === undefined) return [];
    const facts = { unit: '×', provenance: provenanceOfPoints([one, four, base]) };
    return [
      clauseOf({
        ...facts,
        statement: `4 producers have more than ${linearTo4} × the rate of one`,
        sample: ratioOf(rateOf(four), rateOf(one)),
        over: linearTo4,
        numbers: ratesInWords(prefetch),
      }),
      clauseOf({
        ...facts,
        statement: `4 producers have more than ${timesBase} × the rate of the base`,
        sample: ratioOf(rateOf(four), rateOf(base)),
        over: timesBase,
        numbers: `Base: ${perSec(figureOf(base, 'messagesPerSec'))}; prefetch: ${perSec(figureOf(four, 'messagesPerSec'))}.`,
      }),
    ].map((clause) => comparable(clause, [one, four], context));
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points with prefetch and 1 and 4 producers, and of the base with 4.');
};

/** Compares the rates at a load that leaves the machine cores to spare. */
const linearAtLoad = (one: Point, four: Point, context: JudgeContext): ClaimClause =>
  atGivenLoad(
    clauseOf({
      condition: atLoad(one),
      statement: `4 producers have more than ${linearTo4} × the rate of one`,
      unit: '×',
      sample: ratioOf(rateOf(four), rateOf(one)),
      over: linearTo4,
      provenance: provenanceOfPoints([one, four]),
      numbers: ratesInWords([one, four]),
    }),
    [one, four],
    context,
  );

const documentRate = 90_000;
/** "Not significantly": the bars are ours. */
const unchanged = { over: 0.8, under: 1.25 };

export const judgeD4: Judge = (all, context) => {
  const clauses = groupsBy(all, 'subscribers').flatMap((group) => {
    const prefetch = of(group, 'prefetch').filter((point) => payloadOf(point) === kilobyte);
    const [one, two] = [1, 2].map((count) => prefetch.find((point) => subscribersOf(point) === count));
    if (one === undefined || two === undefined) return [];
    const facts = {
      condition: isPaced(one)
        ? `${plural(producersOf(one), 'producer')}, ${atLoad(one)}`
        : plural(producersOf(one), 'producer'),
      provenance: provenanceOfPoints([one, two]),
      numbers: `One subscriber: ${perSec(figureOf(one, 'messagesPerSec'))}; each of two: ${perSec(figureOf(two, 'messagesPerSec'))}.`,
    };
    const second = clauseOf({
      ...facts,
      statement: 'a second subscriber does not change the rate of each',
      unit: '×',
      sample: ratioOf(rateOf(two), rateOf(one)),
      ...unchanged,
    });
    if (isPaced(one)) return [atGivenLoad(second, [one, two], context)];
    return [
      clauseOf({
        ...facts,
        statement: 'each of two subscribers gets more than 90,000 messages a second',
        unit: 'messages per second',
        sample: rateOf(two),
        over: documentRate,
        digits: 0,
      }),
      second,
    ].map((clause) => comparable(clause, [one, two], context));
  });
  return clauses.length > 0 ? clauses : needs('Needs points with prefetch, and one and two subscribers.');
};

/** The bar is ours: a fifth more. */
const littleGain = 1.2;

export const judgeD7: Judge = (all) => {
  const groups = groupsBy(all, 'configuration', 'payloadBytes');
  const clauses = groups.flatMap((group) => {
    const gains = of(group, 'prefetch').flatMap((point) => {
      const without = of(group, 'one-way').find((each) => payloadOf(each) === payloadOf(point));
      return without === undefined ? [] : [{ point, without, gain: ratioOf(rateOf(point), rateOf(without)) }];
    });
    const small = gains.find(({ point }) => payloadOf(point) === kilobyte);
    const large = gains.filter(({ point }) => payloadOf(point) >= largeBytes);
    if (small === undefined || large.length === 0) return [];
    return [
      clauseOf({
        condition: '1 KB',
        statement: 'a pipeline gains more than a fifth',
        unit: '× the rate without',
        sample: small.gain,
        over: littleGain,
        provenance: provenanceOfPoints([small.point, small.without]),
      }),
      ...large.map(({ point, without, gain }) =>
        clauseOf({
          condition: `${Math.round(payloadOf(point) / 1_024)} KB`,
          statement: 'a pipeline gains less than a fifth',
          unit: '× the rate without',
          sample: gain,
          under: littleGain,
          provenance: provenanceOfPoints([point, without]),
        }),
      ),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points with and without prefetch, of 1 KB and of more than 100 kB.');
};
