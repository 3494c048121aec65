/**
 * Predictions of a model that was fitted to other claims, compared with the white paper's statements. A prediction is a hit only
 * if it is close: a rate far above the paper's is as much a miss as one far below, unlike a claim about a machine, which holds if
 * a rate is reached.
 */

import { bestOf, type SweepPoint } from '../sim/sweep.ts';
import { median } from '../statistics/intervals.ts';
import { fitLogLog } from '../statistics/log-log-fit.ts';
import type { WhitePaperPoints } from './white-paper-sweeps.ts';

export interface Prediction {
  claim: string;
  /** The statement of the document, in our words. */
  says: string;
  value: number;
  unit: string;
  hit: boolean;
  reason: string;
}

/** The paper's rates are rounded ("approximately", "near"): a prediction this near is the same number. */
const roundedWithin = 0.25;
/** The same bounds as in the lab's judges of measured points: a line, a bend, a regression, a small gain. */
const slopeMin = 0.7;
const deviationMax = 0.25;
const regressionMax = 0.15;
const gainShareMax = 0.5;
const keepUpMin = 0.95;
const slopeDifferenceMax = 0.15;
/** Response times within this factor are "relatively flat"; a rise is more than that. */
const flatWithin = 1.5;

type Judged = Pick<Prediction, 'value' | 'unit' | 'hit' | 'reason'>;

const says = {
  A1: 'The sharded dequeue rate rises in a straight log-log line with the threads, to 32, without regression as instances are added',
  A4: 'The unsharded queue gains little from more threads or instances',
  A6: 'With equal numbers of threads, unsharded dequeues fall behind enqueues; the sharded enqueue rate scales like the dequeue rate',
  A7: 'The sharded queue dequeues more than 4 times as many messages per CPU at higher load',
  A12: 'A sharded topic of 10 subscribers reaches about 100,000 dequeues per second',
  A13: 'The unsharded topic does not scale with threads or instances',
  A14: 'The sharded topic uses less than half the CPU of the unsharded one',
  A15: 'The enqueue rate of the sharded topic does not degrade as instances are added',
  A16: 'With large batches the sharded topic reaches about 150,000 enqueues and dequeues per second together',
  A17: 'The CPU utilisation of each of 8 instances stays below 10 %',
  A18: 'The response time of a topic dequeue stays flat for sharded, and rises with instances or dequeuers for unsharded',
} as const;

const judges: Record<keyof typeof says, (points: WhitePaperPoints) => Judged> = {
  A1: ({ shardedQueue }) => {
    const fits = counts(shardedQueue).flatMap(
      (instances) => lineOf(shardedQueue, instances, 'dequeuePerSec') ?? [],
    );
    const slope = Math.min(...fits.map((fit) => fit.slope));
    const bend = Math.max(...fits.map((fit) => fit.worstDeviation));
    const loss = largestLoss(shardedQueue, 'dequeuePerSec');
    return {
      value: round(slope),
      unit: 'log-log slope, lowest',
      hit: slope >= slopeMin && bend <= deviationMax && loss <= regressionMax,
      reason: `Points deviate from their lines by up to ${percent(bend)}; adding instances loses at most ${percent(loss)}.`,
    };
  },

  A4: ({ shardedQueue, unshardedQueue }) => judgeLittleGain(shardedQueue, unshardedQueue),

  A6: ({ shardedQueue, unshardedQueue }) => {
    const loaded = unshardedQueue.filter(({ instances, threads }) => instances === 1 && threads >= 8);
    const ratio = median(loaded.map(({ result }) => result.dequeuePerSec / result.enqueuePerSec));
    const apart = counts(shardedQueue).map((instances) => {
      const [enqueue, dequeue] = (['enqueuePerSec', 'dequeuePerSec'] as const).map(
        (metric) => lineOf(shardedQueue, instances, metric)?.slope ?? Number.NaN,
      );
      return Math.abs(enqueue! - dequeue!);
    });
    return {
      value: round(ratio),
      unit: 'unsharded dequeues per enqueue, one instance, 8 threads and more',
      hit: ratio < keepUpMin && Math.max(...apart) <= slopeDifferenceMax,
      reason: `The slopes of sharded enqueues and dequeues differ by at most ${round(Math.max(...apart), 3)}.`,
    };
  },

  A7: ({ shardedQueue, unshardedQueue }) => {
    const { low, high } = cpuRatios(shardedQueue, unshardedQueue);
    return {
      value: round(low, 1),
      unit: '× messages per CPU second at 32 threads, lowest',
      hit: low > 4,
      reason: `From ${round(low, 1)} to ${round(high, 1)} times, depending on the number of instances.`,
    };
  },

  A12: ({ shardedTopic }) => {
    const best = bestOf(shardedTopic);
    return judgeWithinRounding(best.result.dequeuePerSec, 100_000, 'dequeues/s', where(best));
  },

  A13: ({ shardedTopic, unshardedTopic }) => judgeLittleGain(shardedTopic, unshardedTopic),

  A14: ({ shardedTopic, unshardedTopic }) => {
    const { low, high } = cpuRatios(shardedTopic, unshardedTopic);
    return {
      value: round(1 / low, 3),
      unit: '× the CPU per unsharded dequeue at 32 threads, highest',
      hit: 1 / low < 0.5,
      reason: `From ${round(1 / high, 3)} to ${round(1 / low, 3)}, depending on the number of instances.`,
    };
  },

  A15: ({ shardedTopic }) => {
    const loss = largestLoss(shardedTopic, 'enqueuePerSec');
    return {
      value: round(loss),
      unit: 'largest share of the enqueue rate lost by adding instances',
      hit: loss <= regressionMax,
      reason: 'At equal threads, each instance count compared with the next smaller one.',
    };
  },

  A16: ({ shardedTopicBatches }) => {
    const best = bestOf(shardedTopicBatches);
    const { enqueuePerSec, dequeuePerSec } = best.result;
    return judgeWithinRounding(enqueuePerSec + dequeuePerSec, 150_000, 'operations/s', where(best));
  },

  A17: ({ shardedTopic, shardedTopicBatches }) => {
    const eight = [...shardedTopic, ...shardedTopicBatches].filter(({ instances }) => instances === 8);
    const most = Math.max(...eight.map(({ result }) => result.use.cores));
    return {
      value: round(most, 3),
      unit: 'share of a node’s cores, highest',
      hit: most < 0.1,
      reason: `Over ${eight.length} points of the topic on 8 instances.`,
    };
  },

  A18: ({ shardedTopic, unshardedTopic }) => {
    const response = ({ result }: SweepPoint) => result.dequeueCallMs.mean;
    const sharded = shardedTopic.map(response);
    const flat = Math.max(...sharded) / Math.min(...sharded);
    const at = (instances: number, threads: number) =>
      response(unshardedTopic.find((each) => each.instances === instances && each.threads === threads)!);
    const byInstances = at(8, 8) / at(1, 8);
    const byDequeuers = at(8, 32) / at(8, 8);
    return {
      value: round(byInstances, 1),
      unit: '× growth of the unsharded response time from 1 to 8 instances at 8 threads',
      hit: flat <= flatWithin && byInstances > flatWithin && byDequeuers > flatWithin,
      reason: `The unsharded response time also grows by a factor of ${round(byDequeuers, 1)} from 8 to 32 threads on 8 instances; the sharded one varies by a factor of ${round(flat)} over all points.`,
    };
  },
};

/** One prediction for each claim, in their order. */
export function predictWhitePaper(points: WhitePaperPoints): Prediction[] {
  return (Object.keys(says) as (keyof typeof says)[]).map((claim) => ({
    claim,
    says: says[claim],
    ...judges[claim](points),
  }));
}

function judgeWithinRounding(value: number, document: number, unit: string, at: string): Judged {
  const off = value / document - 1;
  return {
    value: Math.round(value),
    unit,
    hit: Math.abs(off) <= roundedWithin,
    reason: `${percent(Math.abs(off))} ${off < 0 ? 'under' : 'over'} the paper’s ${document.toLocaleString('en-US')} (${at}).`,
  };
}

/** Compares the unsharded queue's gain from one thread on one instance to its best rate with the sharded queue's gain. */
function judgeLittleGain(sharded: readonly SweepPoint[], unsharded: readonly SweepPoint[]): Judged {
  const gain = (points: readonly SweepPoint[]) => {
    const start = points.find(({ instances, threads }) => instances === 1 && threads === 1)!;
    return bestOf(points).result.dequeuePerSec / start.result.dequeuePerSec;
  };
  const [little, much] = [gain(unsharded), gain(sharded)];
  const one = bestOf(unsharded.filter(({ instances }) => instances === 1)).result.dequeuePerSec;
  const several = bestOf(unsharded.filter(({ instances }) => instances > 1)).result.dequeuePerSec;
  return {
    value: round(little / much),
    unit: '× the gain of the sharded queue from one thread to its best point',
    hit: little / much <= gainShareMax && several / one <= 1 + regressionMax,
    reason: `The unsharded queue gains a factor of ${round(little, 1)}, the sharded queue ${round(much, 1)}; the best rate of several instances is ${round(several / one)} of the best rate of one.`,
  };
}

/** How many times as many messages per CPU sharded dequeues at 32 threads, over the instance counts. */
function cpuRatios(sharded: readonly SweepPoint[], unsharded: readonly SweepPoint[]) {
  const cpu = (points: readonly SweepPoint[], instances: number) =>
    points.find((each) => each.instances === instances && each.threads === 32)!.result.cpuUsPerMessage;
  const ratios = counts(sharded).map((instances) => cpu(unsharded, instances) / cpu(sharded, instances));
  return { low: Math.min(...ratios), high: Math.max(...ratios) };
}

const counts = (points: readonly SweepPoint[]) => [...new Set(points.map(({ instances }) => instances))];

function lineOf(points: readonly SweepPoint[], instances: number, metric: 'enqueuePerSec' | 'dequeuePerSec') {
  const line = points.filter((point) => point.instances === instances);
  return fitLogLog(line.map(({ threads, result }) => ({ x: threads, y: result[metric] })));
}

/** The largest share of a rate that is lost from one instance count to the next, where both have threads for each. */
function largestLoss(points: readonly SweepPoint[], metric: 'enqueuePerSec' | 'dequeuePerSec'): number {
  let largest = 0;
  for (const point of points) {
    const before = points.find(
      (each) => each.threads === point.threads && each.instances === point.instances / 2,
    );
    if (before === undefined || point.instances > point.threads) continue;
    largest = Math.max(largest, 1 - point.result[metric] / before.result[metric]);
  }
  return largest;
}

const where = ({ instances, threads }: SweepPoint) =>
  `best at ${instances} ${instances === 1 ? 'instance' : 'instances'}, ${threads} threads`;
const round = (value: number, digits = 2) => Number(value.toFixed(digits));
const percent = (share: number) => `${Math.round(share * 100)} %`;
