/** Judges of the claims about rates: B1, B2 and B3. */
import { numberParam, type Point } from '@shardlab/contract';
import { fitLogLog, type Interval } from '@shardlab/model';
import {
  fixed,
  inconclusive,
  type Judge,
  perSec,
  rounded,
  verdictAgainstBar,
} from '../../../judging/judgement.ts';
import { redisBenchmark } from '../document-figures.ts';
import { type Clause, clausesInWords, verdictOf } from './clauses.ts';
import {
  comparedQueues,
  isTelling,
  ofSystem,
  onePlanPoints,
  type Ratio,
  rateOf,
  rates,
  ratioOf,
  repeatsOf,
  short,
  times,
} from './completion-points.ts';

const redis = 'redis-snapshot';

interface RatioClause extends Clause {
  ratio: Ratio;
}

export const judgeB1: Judge = (all) => {
  const points = onePlanPoints(all);
  const { buffered, persistent, words } = comparedQueues(points);
  const clauses = rates.flatMap(({ name, words: what }) =>
    [
      [redis, buffered],
      [buffered, persistent],
    ].flatMap(([over, under]): RatioClause[] => {
      const ratio = ratioOf(points, { over: over!, under: under!, name });
      if (ratio === null) return [];
      const verdict = verdictAgainstBar({ ...ratio, bar: 1, wanted: 'over' });
      return [{ verdict, ratio, words: `${what}, ${over} ÷ ${under}: ${times(ratio)}` }];
    }),
  );
  const wanted = 2 * rates.length;
  if (clauses.length < wanted)
    return inconclusive('×', `Needs points of ${redis}, ${buffered} and ${persistent} with one thread.`);
  const [worst] = clauses.toSorted((a, b) => a.ratio.value - b.ratio.value);
  return {
    verdict: verdictOf(clauses),
    value: fixed(worst!.ratio.value),
    unit: '× between neighbours in the order, the lowest',
    interval: rounded(worst!.ratio.interval),
    reason: `${clausesInWords(clauses)} Compared ${words}. Medians: ${ratesInWords(points)}.`,
  };
};

/** "buffered 80,000/s and 90,000/s, …": enqueue and dequeue of each system, the fastest enqueue first. */
function ratesInWords(points: readonly Point[]): string {
  const systems = [...new Set(points.map(({ system }) => system))];
  return systems
    .map((system) => ({ system, points: ofSystem(points, system) }))
    .toSorted((a, b) => rateOf(b.points, 'enqueuePerSec') - rateOf(a.points, 'enqueuePerSec'))
    .map(
      ({ system, points: own }) =>
        `${system} ${perSec(rateOf(own, 'enqueuePerSec'))} and ${perSec(rateOf(own, 'dequeuePerSec'))}`,
    )
    .join(', ');
}

export const judgeB2: Judge = (all) => {
  const points = onePlanPoints(all);
  const { buffered, persistent, words } = comparedQueues(points);
  const [low, high] = redisBenchmark.bufferedOverPersistent;
  const ratios = rates.flatMap(({ name, words: what }) => {
    const ratio = ratioOf(points, { over: buffered, under: persistent, name });
    return ratio === null ? [] : [{ what, ratio }];
  });
  if (ratios.length < rates.length)
    return inconclusive('×', `Needs points of ${buffered} and ${persistent} with one thread.`);
  const clauses = ratios.flatMap(({ what, ratio }): Clause[] => [
    {
      verdict: verdictAgainstBar({ ...ratio, bar: low, wanted: 'over' }),
      words: `${what} at least ${low} ×: ${times(ratio)}`,
    },
    {
      verdict: verdictAgainstBar({ ...ratio, bar: high, wanted: 'under' }),
      words: `${what} at most ${high} ×: ${times(ratio)}`,
    },
  ]);
  const [{ ratio }] = ratios as [(typeof ratios)[number]];
  return {
    verdict: verdictOf(clauses),
    value: fixed(ratio.value),
    unit: '× as many enqueues',
    interval: rounded(ratio.interval),
    reason: `${clausesInWords(clauses)} Compared ${buffered} with ${persistent}, ${words}: a persistent message is synced before it is acknowledged, so the ratio follows the latency of the disk.`,
  };
};

/** The rate may change by a quarter between the fewest and the most messages: the document gives no number for "hardly". */
const changeMax = 1.25;

export const judgeB3: Judge = (all) => {
  const points = onePlanPoints(all).filter(({ system }) => system !== 'null');
  const systems = [...new Set(points.map(({ system }) => system))];
  const clauses = systems.flatMap((system) =>
    rates.flatMap(({ name, words: what }) => {
      const change = changeOf(ofSystem(points, system), name);
      if (change === null) return [];
      const words = `${system}, ${what}: ${times(change)}`;
      return [{ ...change, verdict: flatness(change.interval), words }];
    }),
  );
  if (clauses.length === 0)
    return inconclusive('×', 'Needs points with at least three numbers of messages and one thread.');
  const ranked = clauses.toSorted((a, b) => Math.abs(Math.log(b.value)) - Math.abs(Math.log(a.value)));
  const [worst] = ranked;
  const counts = points.map(({ params }) => numberParam(params, 'messages'));
  return {
    verdict: verdictOf(clauses),
    value: fixed(worst!.value),
    unit: '× the rate from the fewest to the most messages, the largest change',
    interval: isTelling(worst!.interval) ? rounded(worst!.interval) : null,
    reason: `From ${short(Math.min(...counts))} to ${short(Math.max(...counts))} messages a rate may change by ${changeMax} × up or down (the bar is ours), by the slope of a line through all repeats; the largest changes first. ${clausesInWords(ranked)}`,
  };
};

/** The rate at the most messages ÷ that at the fewest, by the slope of a line through logs; null without an interval. */
function changeOf(
  points: readonly Point[],
  name: (typeof rates)[number]['name'],
): { value: number; interval: Interval } | null {
  const pairs = points.flatMap((point) =>
    repeatsOf(point, name).map((y) => ({ x: numberParam(point.params, 'messages'), y })),
  );
  const fit = fitLogLog(pairs);
  if (fit === null || fit.slopeInterval === null) return null;
  const counts = pairs.map(({ x }) => x);
  if (new Set(counts).size < 3) return null;
  const range = Math.log(Math.max(...counts) / Math.min(...counts));
  const [low, high] = fit.slopeInterval;
  return { value: Math.exp(fit.slope * range), interval: [Math.exp(low * range), Math.exp(high * range)] };
}

function flatness([low, high]: Interval): Clause['verdict'] {
  if (low >= 1 / changeMax && high <= changeMax) return 'holds';
  return high < 1 / changeMax || low > changeMax ? 'does-not-hold' : 'inconclusive';
}
