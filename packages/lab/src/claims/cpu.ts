/** A7 and A14: CPU of a message, sharded against unsharded. A17: CPU of each of eight instances. */
import type { Point } from '@shardlab/contract';
import { type Interval, ratioInterval, spread } from '@shardlab/model';
import {
  best,
  fixed,
  inconclusive,
  type Judge,
  noInterval,
  percent,
  perSec,
  rounded,
  sharded,
  sideOf,
  standIn,
  underLoad,
  unsharded,
  where,
} from './judgement.ts';
import { whitePaper } from './ledger.ts';

export const judgeA7: Judge = (points) => {
  const unit = '× the dequeues for each CPU second of unsharded';
  const middle = middlePair(points, ({ costly, cheap }) => [costly, cheap]);
  if (middle === null)
    return inconclusive(unit, 'Needs points of both queues at the same threads, under load.');
  const { value, interval } = middle;
  return {
    verdict: sideOf({ value, interval, bar: whitePaper.dequeuesPerCpuRatio, wanted: 'over' }),
    value: fixed(value),
    unit,
    interval: rounded(interval),
    reason: `${middle.words}${middle.noInterval}`,
  };
};

export const judgeA14: Judge = (points) => {
  const unit = '× the CPU for a delivery of unsharded';
  const middle = middlePair(points, ({ costly, cheap }) => [cheap, costly]);
  if (middle === null) {
    return inconclusive(
      unit,
      'Needs points of a sharded and an unsharded topic at the same threads, under load.',
    );
  }
  const { value, interval } = middle;
  return {
    verdict: sideOf({ value, interval, bar: whitePaper.topicCpuRatio, wanted: 'under' }),
    value: fixed(value, 3),
    unit,
    interval: rounded(interval, 3),
    reason: `${middle.words}${middle.noInterval}${standIn}`,
  };
};

interface Pair {
  /** Unsharded. */
  costly: Point;
  /** Sharded, with the same parameters. */
  cheap: Point;
}

/** The pair under load whose ratio of CPU is the middle one; null without any pair. */
function middlePair(points: readonly Point[], ratio: (pair: Pair) => [over: Point, under: Point]) {
  const pairs = underLoad(unsharded(points)).flatMap((costly) => {
    const cheap = sharded(points).find((point) => sameParams(point, costly));
    return cheap === undefined || cheap.cpuUsPerMessage === 0 || costly.cpuUsPerMessage === 0
      ? []
      : [{ costly, cheap }];
  });
  const costRatio = (pair: Pair) => {
    const [over, under] = ratio(pair);
    return over.cpuUsPerMessage / under.cpuUsPerMessage;
  };
  const sorted = pairs.sort((a, b) => costRatio(a) - costRatio(b));
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) return null;
  const [over, under] = ratio(middle);
  const cpu = (point: Point) => point.repeats.map((repeat) => repeat.cpuUsPerMessage);
  const range = `${fixed(costRatio(sorted[0]!))} to ${fixed(costRatio(sorted.at(-1)!))}`;
  return {
    value: costRatio(middle),
    interval: ratioInterval(cpu(over), cpu(under)),
    words: `The middle of ${sorted.length} pairs of points under load (${range}): ${where(middle.cheap)}, ${fixed(middle.cheap.cpuUsPerMessage, 1)} µs of CPU a dequeued message sharded and ${fixed(middle.costly.cpuUsPerMessage, 1)} µs unsharded, the load generator included in both.`,
    noInterval: noInterval(middle.cheap.repeats.length),
  };
}

function sameParams(a: Point, b: Point): boolean {
  return JSON.stringify(a.params) === JSON.stringify(b.params);
}

/**
 * Another machine's utilisation cannot be measured here, but CPU time can: what each of eight instances takes, at the
 * document's rate of deliveries, as a share of one of its nodes. A core here is taken for one there.
 */
export const judgeA17: Judge = (points) => {
  const unit = 'of a node of the document, each instance';
  const { nodes, coresPerNode, topicDequeuePerSec, topicCpuShare } = whitePaper;
  const top = best(sharded(points).filter((point) => point.params.instances === nodes));
  if (top === null || top.dequeuePerSec === 0) {
    return inconclusive(unit, `Needs points of a sharded topic on ${nodes} instances.`);
  }
  const busiest = Math.max(...top.cpuShareByInstance);
  const value = ((busiest / top.dequeuePerSec) * topicDequeuePerSec) / coresPerNode;
  const interval = scaled(
    spread(top.repeats.map((repeat) => repeat.cpuUsPerMessage)),
    value / top.cpuUsPerMessage,
  );
  return {
    verdict: sideOf({ value, interval, bar: topicCpuShare, wanted: 'under' }),
    value: fixed(value, 4),
    unit,
    interval: rounded(interval, 4),
    reason: `The busiest of ${nodes} instances keeps ${fixed(busiest)} cores busy at ${perSec(top.dequeuePerSec)} (${where(top)}). At the document's ${perSec(topicDequeuePerSec)} that is ${percent(value)} of a node of ${coresPerNode} cores, if a core there is worth one here; the instances share this machine's cores, and the load generator is included.${noInterval(top.repeats.length)}`,
  };
};

const scaled = (interval: Interval | null, by: number): Interval | null =>
  interval === null || !Number.isFinite(by) ? null : [interval[0] * by, interval[1] * by];
