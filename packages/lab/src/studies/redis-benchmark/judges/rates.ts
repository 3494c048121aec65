/** Judges of the claims about rates: B1, B2 and B3. */
import type { ClaimClause, Point } from '@shardlab/contract';
import { fitLogLog } from '@shardlab/model';
import { clauseOf, needs } from '../../../judging/clause.ts';
import type { Judge } from '../../../judging/judgement.ts';
import { provenanceOf } from '../../../judging/queue-points.ts';
import { combined, type Sample } from '../../../judging/sample.ts';
import { redisBenchmark } from '../document/document-figures.ts';
import {
  firstPlanPoints,
  messagesOf,
  ofSystem,
  placesOf,
  type Rate,
  rateInWords,
  rateOf,
  rateRatio,
  rates,
} from './completion-points.ts';

const redis = 'redis-snapshot';

export const judgeB1: Judge = (all) => {
  const points = firstPlanPoints(all);
  const clauses = placesOf(points).flatMap(({ condition, buffered, persistent }) =>
    [
      { over: redis, under: buffered },
      { over: buffered, under: persistent },
    ].flatMap((pair) =>
      ratioClauses(points, {
        ...pair,
        condition,
        bars: [{ statement: `${pair.over} is faster than ${pair.under}`, over: 1 }],
      }),
    ),
  );
  const hasRedis = ofSystem(points, redis).length > 0;
  return hasRedis && clauses.length > 0
    ? clauses
    : needs(`Needs points of ${redis}, a buffered queue and a persistent one with one thread.`);
};

export const judgeB2: Judge = (all) => {
  const points = firstPlanPoints(all);
  const [low, high] = redisBenchmark.bufferedOverPersistent;
  const clauses = placesOf(points).flatMap(({ condition, buffered, persistent }) =>
    ratioClauses(points, {
      over: buffered,
      under: persistent,
      condition,
      bars: [
        { statement: `the buffered queue is more than ${low} times as fast`, over: low },
        { statement: `it is less than ${high} times as fast`, under: high },
      ],
      sentences:
        'A persistent message is synced before it is acknowledged, so the ratio follows the latency of the disk.',
    }),
  );
  return clauses.length > 0
    ? clauses
    : needs('Needs points of a buffered queue and a persistent one with one thread.');
};

interface RatioFacts {
  over: string;
  under: string;
  condition: string;
  bars: readonly { statement: string; over?: number; under?: number }[];
  sentences?: string;
}

/** Clauses for each bar, of enqueues and of dequeues. */
function ratioClauses(points: readonly Point[], facts: RatioFacts): ClaimClause[] {
  const { over, under, condition, bars, sentences } = facts;
  return rates.flatMap((rate) => {
    const sample = rateRatio(points, { over, under, rate });
    if (sample.repeats.length === 0) return [];
    const measured = [over, under].map((system) => rateInWords(points, system, rate)).join(', ');
    return bars.map(({ statement, ...bar }) =>
      clauseOf({
        ...bar,
        condition,
        statement: `${rate.words}: ${statement}`,
        unit: `× the ${rate.words} rate`,
        sample,
        provenance: provenanceOfRates([...ofSystem(points, over), ...ofSystem(points, under)], rate),
        numbers: `Medians: ${measured}.${sentences === undefined ? '' : ` ${sentences}`}`,
      }),
    );
  });
}

/** The rate may change by a quarter between the fewest and the most messages: the document gives no number for "hardly". */
const changeMax = 1.25;
/** Two points have a line through them whatever they are. */
const countsMin = 3;

export const judgeB3: Judge = (all) => {
  const points = firstPlanPoints(all).filter(({ system }) => system !== 'null');
  const systems = [...new Set(points.map(({ system }) => system))];
  const clauses = systems.flatMap((system) => {
    const line = ofSystem(points, system).toSorted((a, b) => messagesOf(a) - messagesOf(b));
    if (line.length < countsMin) return [];
    const [fewest, most] = [line[0]!, line.at(-1)!].map((point) => messagesOf(point).toLocaleString('en-US'));
    return rates.map((rate) =>
      clauseOf({
        statement: `${system}: the ${rate.words} rate hardly changes`,
        unit: `× the ${rate.words} rate from the fewest to the most messages`,
        sample: changeOf(line, rate),
        over: 1 / changeMax,
        under: changeMax,
        provenance: provenanceOfRates(line, rate),
        numbers: `From ${fewest} to ${most} messages, by a line through all numbers of them; the bars are ours.`,
      }),
    );
  });
  return clauses.length > 0
    ? clauses
    : needs(`Needs points with at least ${countsMin} numbers of messages and one thread.`);
};

/** The rate at the most messages ÷ that at the fewest, by a log-log line through all points in each repeat. */
function changeOf(line: readonly Point[], rate: Rate): Sample {
  const counts = line.map(messagesOf);
  const range = Math.log(Math.max(...counts) / Math.min(...counts));
  return combined(
    line.map((point) => rateOf(point, rate)),
    (values) => {
      const fit = fitLogLog(values.map((y, index) => ({ x: counts[index]!, y })));
      return fit === null ? Number.NaN : Math.exp(fit.slope * range);
    },
  );
}

const provenanceOfRates = (points: readonly Point[], { name }: Rate) =>
  provenanceOf(points.flatMap(({ figures }) => figures[name] ?? []));
