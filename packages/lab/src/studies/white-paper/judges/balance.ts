/** Claims A3, A6 and A19: whether dequeuers keep up with the same number of enqueuers. */

import { fitLogLog, median, ratioInterval } from '@shardlab/model';
import {
  fixed,
  inconclusive,
  type Judgement,
  noInterval,
  percent,
  rounded,
} from '../../../judging/judgement.ts';
import {
  distinct,
  familiesOf,
  heldBackShare,
  keepUpMin,
  keepUpRatio,
  pointInWords,
  type QueueJudge,
  sharded,
  underLoad,
  unsharded,
} from '../../../judging/queue-points.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';
import { whitePaper } from '../document-figures.ts';

/** Slopes of enqueue and dequeue that differ by less than this count as equal. */
const slopeDifferenceMax = 0.15;

export const judgeA3: QueueJudge = (points) =>
  judgeKeepingUp(
    sharded(points).filter((point) => point.dequeuePerSec <= whitePaper.shardedDequeuePerSec),
    'dequeues per enqueue',
  );

export const judgeA19: QueueJudge = (points) =>
  judgeKeepingUp(sharded(points), 'share of the required deliveries');

function judgeKeepingUp(all: readonly QueuePoint[], unit: string): Judgement {
  if (distinct(all, 'threads').length < 2) {
    return inconclusive(unit, 'Needs sharded points of at least two thread counts.');
  }
  const worst = worstOf(all);
  const ratio = keepUpRatio(worst);
  const short = all.filter((point) => keepUpRatio(point) < keepUpMin);
  const behind = short.filter((point) => keepUpRatio(point) + inFlightShare(point) < keepUpMin);
  const held = heldBackShare(worst);
  const numbers = `The lowest of ${all.length} points is ${fixed(ratio)} (${pointInWords(worst)}${held > 0.005 ? `; its enqueuers were paused ${percent(held)} of the time` : ''}).`;
  const finding =
    behind.length > 0
      ? ` At ${behind.length} of them dequeuers consume less than ${keepUpMin} of the enqueued messages.`
      : short.length > 0
        ? ` At ${short.length} of them less than ${keepUpMin} is consumed, but so few messages were enqueued that those in flight at the edges of the window explain the difference.`
        : ` Dequeuers keep up (${keepUpMin} or more) at every point.`;
  return {
    verdict: behind.length > 0 ? 'does-not-hold' : short.length > 0 ? 'inconclusive' : 'holds',
    value: fixed(ratio, 3),
    unit,
    interval: rounded(intervalOf(worst), 3),
    reason: `${numbers}${finding}${noInterval(worst.repeats.length)}`,
  };
}

/**
 * The share of enqueued messages that may be in flight at the edges of the window: one transaction per enqueuer, which
 * is enqueued inside the window and consumed after it, or the other way round. Large if a slow point enqueued little.
 */
function inFlightShare({ params, enqueuePerSec, repeats }: QueuePoint): number {
  const measuredMs = median(repeats.map((repeat) => repeat.measuredMs));
  const enqueued = (enqueuePerSec * measuredMs) / 1000;
  return enqueued === 0 ? 1 : (params.threads * params.operationsPerTransaction) / enqueued;
}

export const judgeA6: QueueJudge = (points) => {
  const unit = 'unsharded dequeues per enqueue';
  const family = familiesOf(points)[0];
  const threads = family === undefined ? [] : distinct(unsharded(family.points), 'threads');
  if (family === undefined || threads.length < 2 || distinct(sharded(family.points), 'threads').length < 3) {
    return inconclusive(unit, 'Needs unsharded points with two thread counts and sharded points with three.');
  }
  const loaded = underLoad(unsharded(points));
  const ratio = median(loaded.map(keepUpRatio));
  const worst = worstOf(loaded);
  const slopes = slopesOf(sharded(family.points));
  if (slopes === null) return inconclusive(unit, 'The sharded points do not determine a slope.');
  const apart = Math.abs(slopes.enqueue - slopes.dequeue);
  const faults = [
    ...(ratio < keepUpMin ? [] : ['unsharded dequeues do not fall behind']),
    ...(apart <= slopeDifferenceMax ? [] : ['sharded enqueue and dequeue scale differently']),
  ];
  return {
    verdict: faults.length === 0 ? 'holds' : 'does-not-hold',
    value: fixed(ratio, 3),
    unit,
    interval: rounded(intervalOf(worst), 3),
    reason: `Median of the ${loaded.length} unsharded points under load: ${fixed(ratio)}, lowest ${fixed(keepUpRatio(worst))} (${pointInWords(worst)}${heldBackShare(worst) > 0.005 ? `; enqueuers paused ${percent(heldBackShare(worst))} of the time` : ''}), whose repeats give the interval. Sharded ${family.words}: enqueue slope ${fixed(slopes.enqueue)}, dequeue slope ${fixed(slopes.dequeue)}.${faults.length === 0 ? '' : ` But ${faults.join(', and ')}.`}${noInterval(worst.repeats.length)}`,
  };
};

function worstOf(points: readonly QueuePoint[]): QueuePoint {
  return points.reduce((low, point) => (keepUpRatio(point) < keepUpRatio(low) ? point : low));
}

/** Slopes over threads: the median over all instance counts. */
function slopesOf(points: readonly QueuePoint[]): { enqueue: number; dequeue: number } | null {
  const slopes = (metric: 'enqueuePerSec' | 'dequeuePerSec') =>
    distinct(points, 'instances').flatMap((instances) => {
      const line = points.filter((point) => point.params.instances === instances);
      const fit = fitLogLog(line.map((point) => ({ x: point.params.threads, y: point[metric] })));
      return fit === null ? [] : [fit.slope];
    });
  const [enqueue, dequeue] = [median(slopes('enqueuePerSec')), median(slopes('dequeuePerSec'))];
  return Number.isNaN(enqueue) || Number.isNaN(dequeue) ? null : { enqueue, dequeue };
}

function intervalOf(point: QueuePoint) {
  return ratioInterval(
    point.repeats.map((repeat) => repeat.dequeuePerSec),
    point.repeats.map((repeat) => repeat.enqueuePerSec * (point.params.subscribers ?? 1)),
  );
}
