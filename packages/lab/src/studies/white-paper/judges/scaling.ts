/** Claims A1, A15: a straight log-log line without regression. A4, A13: the gain of the unsharded queue or topic. */

import { fitLogLog, type Interval, type LogLogFit, ratioInterval } from '@shardlab/model';
import {
  fixed,
  inconclusive,
  type Judgement,
  noInterval,
  percent,
  perSec,
  rounded,
  singleRepeatNoise,
  verdictAgainstBar,
} from '../../../judging/judgement.ts';
import {
  best,
  distinct,
  type Family,
  familiesOf,
  pointInWords,
  type QueueJudge,
  sharded,
  standIn,
  topWait,
  unsharded,
} from '../../../judging/queue-points.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';
import { whitePaper } from '../document-figures.ts';

/** Smallest slope: below it, doubling the threads multiplies the rate by less than 1.6, unlike the figure. */
const slopeMin = 0.7;
/** Largest deviation from a straight line. For comparison: a queue that saturates at half of its last point deviates by 30 %. */
const deviationMax = 0.25;
/** Loss by adding instances at equal threads that does not count as a regression: a sixth does not change the shape. */
const regressionMax = 0.15;

interface Scaling {
  fits: { instances: number; fit: LogLogFit }[];
  regression: Regression | null;
}

/** The largest share of the rate lost by adding instances at equal threads. */
interface Regression {
  share: number;
  words: string;
  /** Interval of the rate with more instances ÷ the rate with fewer. */
  interval: Interval | null;
  /** Whether the repeats prove a loss; with one repeat, whether the loss exceeds the noise. */
  shown: boolean;
}

export const judgeA1: QueueJudge = (points) => {
  const unit = 'log-log slope';
  const families = familiesOf(
    sharded(points).filter((point) => point.params.threads <= whitePaper.threadsMax),
  );
  const scalings = families.map((family) => ({ family, scaling: scalingOf(family) }));
  const judged = scalings.find(({ scaling }) => scaling.fits.length > 0);
  if (judged === undefined || judged.family !== families[0]) {
    return inconclusive(
      unit,
      'Needs sharded points with at least three thread counts up to 32 on the same number of instances.',
    );
  }
  const { fits, regression } = judged.scaling;
  if (regression === null) {
    return inconclusive(
      unit,
      'Needs sharded points with at least two instance counts at the same number of threads.',
    );
  }
  const flattest = fits.reduce((low, each) => (each.fit.slope < low.fit.slope ? each : low));
  const bent = fits.filter(({ fit }) => fit.worstDeviation > deviationMax);
  const faults = [
    ...(flattest.fit.slope < slopeMin
      ? [`the slope is ${fixed(flattest.fit.slope)} on ${count(flattest.instances)}, less than ${slopeMin}`]
      : []),
    ...bent.map(
      ({ instances, fit }) =>
        `the points of ${count(instances)} deviate from their line by up to ${percent(fit.worstDeviation)}`,
    ),
    ...(regression.share > regressionMax && regression.shown
      ? [`adding instances loses ${regression.words}`]
      : []),
  ];
  const doubtful = faults.length === 0 && regression.share > regressionMax;
  const others = scalings
    .filter((other) => other !== judged && other.scaling.fits.length > 0)
    .map(
      ({ family, scaling }) =>
        ` For comparison, ${family.words}: ${slopesInWords(scaling)}${scaling.regression === null ? '' : `, largest loss by adding instances ${scaling.regression.words}`}.`,
    );
  const summary = `${capital(judged.family.words)}: ${slopesInWords(judged.scaling)}; largest loss by adding instances: ${regression.words}.`;
  return {
    verdict: doubtful ? 'inconclusive' : faults.length === 0 ? 'holds' : 'does-not-hold',
    value: fixed(flattest.fit.slope, 3),
    unit,
    interval: rounded(flattest.fit.slopeInterval, 3),
    reason: `${summary}${doubtful ? ' These repeats cannot distinguish such a loss from noise.' : ''}${faults.length === 0 ? '' : ` But ${faults.join('; ')}.`}${others.join('')}`,
  };
};

function scalingOf(family: Family): Scaling {
  const fits = distinct(family.points, 'instances').flatMap((instances) => {
    const line = family.points.filter((point) => point.params.instances === instances);
    if (distinct(line, 'threads').length < 3) return [];
    const fit = fitLogLog(line.map((point) => ({ x: point.params.threads, y: point.dequeuePerSec })));
    return fit === null ? [] : [{ instances, fit }];
  });
  return { fits, regression: regressionOf(family.points, 'dequeuePerSec') };
}

/** Compares each instance count with the next lower one, if both have at least one thread per instance. */
function regressionOf(points: readonly QueuePoint[], metric: RateMetric): Regression | null {
  let worst: Regression | null = null;
  for (const threads of distinct(points, 'threads')) {
    const row = points
      .filter((point) => point.params.threads === threads && point.params.instances <= threads)
      .sort((a, b) => a.params.instances - b.params.instances);
    for (const [index, point] of row.entries()) {
      const before = row[index - 1];
      if (before === undefined || before[metric] === 0) continue;
      const share = 1 - point[metric] / before[metric];
      if (worst !== null && share <= worst.share) continue;
      const words =
        share <= 0
          ? 'none'
          : `${percent(share)} from ${before.params.instances} to ${point.params.instances} at ${threads} threads`;
      const interval = rateRatioInterval(point, before, metric);
      worst = {
        share,
        words,
        interval,
        shown: interval === null ? share > singleRepeatNoise : interval[1] < 1,
      };
    }
  }
  return worst;
}

const slopesInWords = ({ fits }: Scaling) =>
  `slope ${fits.map(({ instances, fit }) => `${fixed(fit.slope)} on ${count(instances)} (R² ${fixed(fit.r2, 3)})`).join(', ')}`;
const count = (instances: number) => (instances === 1 ? 'one instance' : `${instances} instances`);
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Defines "little": at most half of the sharded queue's gain from the same threads and instances. */
const gainShareMax = 0.5;

export const judgeA4: QueueJudge = (points) => judgeGain(points);

/** Like A4, and sessions of several instances must wait for each other. */
export const judgeA13: QueueJudge = (points) => {
  const gain = judgeGain(points);
  if (gain.verdict === 'inconclusive') return gain;
  const crowded = best(unsharded(points).filter((point) => point.params.threads > 1));
  const wait = crowded === null ? null : topWait(crowded);
  const waits = ` At its best point it waits most for ${wait === null ? 'nothing' : `"${wait.event}"`}.`;
  if (wait?.class === 'concurrency') return { ...gain, reason: gain.reason + waits + standIn };
  return {
    ...gain,
    verdict: 'does-not-hold',
    reason: `${gain.reason}${waits} But that is not a wait for other sessions.${standIn}`,
  };
};

/** The enqueue rate of the sharded topic: each instance count compared with the next lower one. */
export const judgeA15: QueueJudge = (points) => {
  const unit = 'largest loss of the rate';
  const family = familiesOf(sharded(points))[0];
  const regression = family === undefined ? null : regressionOf(family.points, 'enqueuePerSec');
  if (regression === null) {
    return inconclusive(
      unit,
      'Needs points of a sharded topic with two instance counts at the same number of threads.',
    );
  }
  const { share, words, interval, shown } = regression;
  const lost = Math.max(0, share);
  return {
    verdict: share <= regressionMax ? 'holds' : shown ? 'does-not-hold' : 'inconclusive',
    value: fixed(lost, 3),
    unit,
    interval:
      interval === null ? null : rounded([Math.max(0, 1 - interval[1]), Math.max(0, 1 - interval[0])], 3),
    reason: `Largest loss of the enqueue rate by adding instances: ${words}; a loss of up to ${percent(regressionMax)} does not count.${share > regressionMax && !shown ? ' These repeats cannot distinguish such a loss from noise.' : ''}${interval === null ? noInterval(1) : ''}`,
  };
};

function judgeGain(points: readonly QueuePoint[]): Judgement {
  const unit = '× the gain of the sharded queue';
  const gains = familiesOf(points).map((family) => ({
    family,
    sharded: gainOf(sharded(family.points)),
    unsharded: gainOf(unsharded(family.points)),
  }));
  const judged = gains[0];
  if (judged === undefined || judged.sharded === null || judged.unsharded === null) {
    return inconclusive(
      unit,
      'Needs points of both queues with one thread on one instance, and with more threads.',
    );
  }
  const share = judged.unsharded.gain / judged.sharded.gain;
  const inWords = gains.flatMap((each) =>
    each.sharded === null || each.unsharded === null
      ? []
      : [
          `${each.family.words} the unsharded queue gains a factor of ${fixed(each.unsharded.gain, 1)} from one thread to its best point (${perSec(each.unsharded.top.dequeuePerSec)}, ${pointInWords(each.unsharded.top)}), the sharded queue ${fixed(each.sharded.gain, 1)} (${perSec(each.sharded.top.dequeuePerSec)})`,
        ],
  );
  const interval = shareInterval(judged.unsharded, judged.sharded);
  return {
    verdict: verdictAgainstBar({ value: share, interval, bar: gainShareMax, wanted: 'under' }),
    value: fixed(share),
    unit,
    interval: rounded(interval),
    reason: `${capital(inWords.join('; '))}. "Little" means at most half of the sharded queue's gain.${noInterval(judged.unsharded.top.repeats.length)}`,
  };
}

interface Gain {
  gain: number;
  start: QueuePoint;
  top: QueuePoint;
}

/** The interval from the rates of the four points, repeat by repeat. */
function shareInterval(unsharded: Gain, sharded: Gain): Interval | null {
  const products = (a: QueuePoint, b: QueuePoint) =>
    a.repeats
      .slice(0, b.repeats.length)
      .map((repeat, index) => repeat.dequeuePerSec * b.repeats[index]!.dequeuePerSec);
  return ratioInterval(products(unsharded.top, sharded.start), products(unsharded.start, sharded.top));
}

/** The gain from one thread on one instance to the best point. Null without the former or without any other point. */
function gainOf(points: readonly QueuePoint[]): Gain | null {
  const start = points.find((point) => point.params.threads === 1 && point.params.instances === 1);
  const top = best(points);
  if (start === undefined || top === null || start.dequeuePerSec === 0 || points.length < 3) return null;
  return { gain: top.dequeuePerSec / start.dequeuePerSec, start, top };
}

type RateMetric = 'dequeuePerSec' | 'enqueuePerSec';

/** Interval of the ratio of two points' rates, from their repeats. */
export function rateRatioInterval(above: QueuePoint, below: QueuePoint, metric: RateMetric) {
  const rates = (point: QueuePoint) => point.repeats.map((repeat) => repeat[metric]);
  return ratioInterval(rates(above), rates(below));
}
