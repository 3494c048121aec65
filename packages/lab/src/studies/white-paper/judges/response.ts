/** Claim A9: response time of a dequeue from the sharded queue. A18: its growth with instances and dequeuers, for a topic. */

import { median, ratioInterval, spread } from '@shardlab/model';
import { fixed, inconclusive, noInterval, rounded, verdictAgainstBar } from '../../../judging/judgement.ts';
import { pointInWords, type QueueJudge, sharded, standIn, unsharded } from '../../../judging/queue-points.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';
import { whitePaper } from '../document-figures.ts';

export const judgeA9: QueueJudge = (points) => {
  const unit = 'ms, median dequeue call';
  const called = sharded(points).filter((point) => point.dequeueCallMs.count > 0);
  const sorted = called.sort((a, b) => a.dequeueCallMs.p50 - b.dequeueCallMs.p50);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) return inconclusive(unit, 'Needs sharded points with dequeues.');
  const value = middle.dequeueCallMs.p50;
  const interval = spread(middle.repeats.flatMap((repeat) => repeat.dequeueCallP50Ms ?? []));
  const slowest = sorted.at(-1)!;
  return {
    verdict: verdictAgainstBar({ value, interval, bar: whitePaper.dequeueCallMs, wanted: 'under' }),
    value: fixed(value, 3),
    unit,
    interval: rounded(interval, 3),
    reason: `The median of ${sorted.length} points (${pointInWords(middle)}); the slowest takes ${fixed(slowest.dequeueCallMs.p50, 3)} ms (${pointInWords(slowest)}). Calls are timed if messages are ready. From the enqueuing commit to the delivery it takes ${fixed(middle.latencyMs.p50, 2)} ms at the median point.${noInterval(middle.repeats.length)}`,
  };
};

/** A response time that grows by less than this factor is flat; otherwise it rises. */
const flatMax = 2;

export const judgeA18: QueueJudge = (points) => {
  const unit = '× the response time with the fewest sessions, sharded';
  const [flat, rising] = [growthOf(sharded(points)), growthOf(unsharded(points))];
  if (flat === null || rising === null) {
    return inconclusive(
      unit,
      'Needs points of a sharded and an unsharded topic with several numbers of instances or dequeuers.',
    );
  }
  const [shardedSide, unshardedSide] = [
    verdictAgainstBar({ value: flat.value, interval: flat.interval, bar: flatMax, wanted: 'under' }),
    verdictAgainstBar({ value: rising.value, interval: rising.interval, bar: flatMax, wanted: 'over' }),
  ];
  const faults = [
    ...(shardedSide === 'does-not-hold' ? ['the sharded topic is not flat'] : []),
    ...(unshardedSide === 'does-not-hold' ? ['the unsharded topic does not rise'] : []),
  ];
  const doubtful = [shardedSide, unshardedSide].includes('inconclusive');
  return {
    verdict: faults.length > 0 ? 'does-not-hold' : doubtful ? 'inconclusive' : 'holds',
    value: fixed(flat.value),
    unit,
    interval: rounded(flat.interval),
    reason: `Sharded: ${flat.words}. Unsharded: ${rising.words}. Less than ${flatMax} times counts as flat.${faults.length === 0 ? '' : ` But ${faults.join(', and ')}.`}${noInterval(flat.repeats)}${standIn}`,
  };
};

/** The mean response time of the slowest point, relative to that with the fewest instances and dequeuers. */
function growthOf(points: readonly QueuePoint[]) {
  const called = points.filter((point) => meanCalls(point).length > 0);
  const sorted = called.sort(
    (a, b) => a.params.instances - b.params.instances || a.params.threads - b.params.threads,
  );
  const [first, ...others] = sorted;
  if (first === undefined || others.length === 0) return null;
  const slowest = others.reduce((slow, point) => (meanOf(point) > meanOf(slow) ? point : slow));
  const [from, to] = [meanOf(first), meanOf(slowest)];
  if (from === 0) return null;
  return {
    value: to / from,
    interval: ratioInterval(meanCalls(slowest), meanCalls(first)),
    repeats: Math.min(first.repeats.length, slowest.repeats.length),
    words: `${fixed(from, 3)} ms per call (${pointInWords(first)}), ${fixed(to, 3)} ms at the slowest point (${pointInWords(slowest)}), ${fixed(to / from, 1)} times as long`,
  };
}

const meanCalls = (point: QueuePoint) => point.repeats.flatMap((repeat) => repeat.dequeueCallMeanMs ?? []);
const meanOf = (point: QueuePoint) => median(meanCalls(point));
