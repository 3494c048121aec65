/** Claims A7 and A14: CPU per message, sharded compared with unsharded. A17: CPU of each of eight instances. */

import { type Interval, ratioInterval, spread } from '@shardlab/model';
import {
  fixed,
  inconclusive,
  noInterval,
  percent,
  perSec,
  rounded,
  verdictAgainstBar,
} from '../../../judging/judgement.ts';
import {
  best,
  pointInWords,
  type QueueJudge,
  sharded,
  standIn,
  underLoad,
  unsharded,
} from '../../../judging/queue-points.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';
import { whitePaper } from '../document-figures.ts';

export const judgeA7: QueueJudge = (points) => {
  const unit = '× the dequeues per CPU second of the unsharded queue';
  const middle = middlePair(points, ({ costly, cheap }) => [costly, cheap]);
  if (middle === null)
    return inconclusive(unit, 'Needs points of both queues with the same number of threads, under load.');
  const { value, interval } = middle;
  return {
    verdict: verdictAgainstBar({ value, interval, bar: whitePaper.dequeuesPerCpuRatio, wanted: 'over' }),
    value: fixed(value),
    unit,
    interval: rounded(interval),
    reason: `${middle.words}${middle.noInterval}`,
  };
};

export const judgeA14: QueueJudge = (points) => {
  const unit = '× the CPU per delivery of the unsharded topic';
  const middle = middlePair(points, ({ costly, cheap }) => [cheap, costly]);
  if (middle === null) {
    return inconclusive(
      unit,
      'Needs points of a sharded and an unsharded topic with the same number of threads, under load.',
    );
  }
  const { value, interval } = middle;
  return {
    verdict: verdictAgainstBar({ value, interval, bar: whitePaper.topicCpuRatio, wanted: 'under' }),
    value: fixed(value, 3),
    unit,
    interval: rounded(interval, 3),
    reason: `${middle.words}${middle.noInterval}${standIn}`,
  };
};

interface Pair {
  /** The unsharded point. */
  costly: QueuePoint;
  /** The sharded point with the same parameters. */
  cheap: QueuePoint;
}

/** The pair under load with the median ratio of CPU; null if there is no pair. */
function middlePair(
  points: readonly QueuePoint[],
  ratio: (pair: Pair) => [over: QueuePoint, under: QueuePoint],
) {
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
  const cpu = (point: QueuePoint) => point.repeats.map((repeat) => repeat.cpuUsPerMessage);
  const range = `${fixed(costRatio(sorted[0]!))} to ${fixed(costRatio(sorted.at(-1)!))}`;
  return {
    value: costRatio(middle),
    interval: ratioInterval(cpu(over), cpu(under)),
    words: `The median of ${sorted.length} pairs of points under load (range ${range}): ${pointInWords(middle.cheap)}, ${fixed(middle.cheap.cpuUsPerMessage, 1)} µs of CPU per dequeued message sharded and ${fixed(middle.costly.cpuUsPerMessage, 1)} µs unsharded, both including the load generator.`,
    noInterval: noInterval(middle.cheap.repeats.length),
  };
}

function sameParams(a: QueuePoint, b: QueuePoint): boolean {
  return JSON.stringify(a.params) === JSON.stringify(b.params);
}

/**
 * The utilisation of the document's machines cannot be measured here, but CPU time can: the value is the CPU time of one
 * of eight instances at the document's delivery rate, as a share of one of its nodes, assuming equal cores.
 */
export const judgeA17: QueueJudge = (points) => {
  const unit = "of one of the document's nodes, per instance";
  const { nodes, coresPerNode, topicDequeuePerSec, topicCpuShare } = whitePaper;
  const top = best(sharded(points).filter((point) => point.params.instances === nodes));
  if (top === null || top.dequeuePerSec === 0) {
    return inconclusive(unit, `Needs points of a sharded topic on ${nodes} instances.`);
  }
  const busiest = Math.max(...top.cpuShareByInstance);
  const value = ((busiest / top.dequeuePerSec) * topicDequeuePerSec) / coresPerNode;
  const interval = scaleInterval(
    spread(top.repeats.map((repeat) => repeat.cpuUsPerMessage)),
    value / top.cpuUsPerMessage,
  );
  return {
    verdict: verdictAgainstBar({ value, interval, bar: topicCpuShare, wanted: 'under' }),
    value: fixed(value, 4),
    unit,
    interval: rounded(interval, 4),
    reason: `The busiest of ${nodes} instances keeps ${fixed(busiest)} cores busy at ${perSec(top.dequeuePerSec)} (${pointInWords(top)}). At the document's ${perSec(topicDequeuePerSec)} that is ${percent(value)} of a node with ${coresPerNode} cores, if its cores equal the cores here; the instances share this machine's cores, and the load generator is included.${noInterval(top.repeats.length)}`,
  };
};

const scaleInterval = (interval: Interval | null, by: number): Interval | null =>
  interval === null || !Number.isFinite(by) ? null : [interval[0] * by, interval[1] * by];
