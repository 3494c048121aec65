/** Claims A2, A11, A12, A16: sharded rates compared with the document's. A5: where the unsharded queue is fastest. */

import { spread } from '@shardlab/model';
import {
  fixed,
  inconclusive,
  noInterval,
  perSec,
  rounded,
  singleRepeatNoise,
} from '../../../judging/judgement.ts';
import {
  best,
  distinct,
  keepUpMin,
  keepUpRatio,
  largeBatchMin,
  pointInWords,
  type QueueJudge,
  sharded,
  topWait,
  unsharded,
} from '../../../judging/queue-points.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';
import { whitePaper } from '../document-figures.ts';
import { rateRatioInterval } from './scaling.ts';

interface RateClaim {
  unit: string;
  needs: string;
  document: number;
  /** The points by which the claim is judged. */
  select(points: readonly QueuePoint[]): readonly QueuePoint[];
  rate(measured: { enqueuePerSec: number; dequeuePerSec: number }): number;
}

/** Judges an absolute rate of the document, which smaller hardware is not expected to reach. */
export function judgeRate(claim: RateClaim): QueueJudge {
  const { unit, document, rate } = claim;
  return (points, { cores }) => {
    const top = bestBy(claim.select(points), rate);
    if (top === null) return inconclusive(unit, claim.needs);
    const { nodes, coresPerNode } = whitePaper;
    const cpuInWords = `${cores ?? 'an unknown number of'} ${cores === 1 ? 'core' : 'cores'}`;
    const value = Math.round(rate(top));
    const reached = value >= document;
    const asMany = cores !== null && cores >= nodes * coresPerNode;
    const reason = reached
      ? `The best sharded point reaches ${perSec(value)} on ${cpuInWords} (${pointInWords(top)}), more than the ${perSec(document)} of the document's ${nodes} nodes with ${coresPerNode} cores. Hardware and clients differ, so this shows that the rate can be reached, not that the systems are equal.`
      : `The best sharded point reaches ${perSec(value)} on ${cpuInWords} (${pointInWords(top)}), ${fixed(value / document)} of the ${perSec(document)} that the document reports for ${nodes} nodes with ${coresPerNode} cores${asMany ? '' : '; such an absolute rate cannot be judged on this machine'}.`;
    return {
      verdict: reached ? 'holds' : asMany ? 'does-not-hold' : 'not-comparable',
      value,
      unit,
      interval: rounded(spread(top.repeats.map(rate)), 0),
      reason: reason + noInterval(top.repeats.length),
    };
  };
}

function bestBy(points: readonly QueuePoint[], rate: RateClaim['rate']): QueuePoint | null {
  return points.reduce<QueuePoint | null>(
    (top, point) => (top === null || rate(point) > rate(top) ? point : top),
    null,
  );
}

const isLarge = ({ params }: QueuePoint) => params.operationsPerTransaction >= largeBatchMin;

export const judgeA2 = judgeRate({
  unit: 'dequeues/s',
  needs: 'Needs sharded points.',
  document: whitePaper.shardedDequeuePerSec,
  select: sharded,
  rate: ({ dequeuePerSec }) => dequeuePerSec,
});

export const judgeA12 = judgeRate({
  unit: 'dequeues/s',
  needs: 'Needs points of a sharded topic.',
  document: whitePaper.topicDequeuePerSec,
  select: (points) => sharded(points).filter((point) => !isLarge(point)),
  rate: ({ dequeuePerSec }) => dequeuePerSec,
});

export const judgeA16 = judgeRate({
  unit: 'enqueues and dequeues/s',
  needs: `Needs points of a sharded topic with at least ${largeBatchMin} operations per transaction.`,
  document: whitePaper.topicLargeBatchOperationsPerSec,
  select: (points) => sharded(points).filter(isLarge),
  rate: ({ enqueuePerSec, dequeuePerSec }) => enqueuePerSec + dequeuePerSec,
});

const judgeLargeRate = judgeRate({
  unit: 'dequeues/s',
  needs: `Needs points of a sharded queue with at least ${largeBatchMin} operations per transaction.`,
  document: whitePaper.largeBatchDequeuePerSec,
  select: (points) => sharded(points).filter(isLarge),
  rate: ({ dequeuePerSec }) => dequeuePerSec,
});

/** Besides the rate, dequeuers must keep up, and partition maintenance must be the top wait event. */
export const judgeA11: QueueJudge = (points, context) => {
  const judgement = judgeLargeRate(points, context);
  const top = best(sharded(points).filter(isLarge));
  if (top === null || judgement.verdict === 'not-comparable') return judgement;
  const keepsUp = keepUpRatio(top);
  const wait = topWait(top);
  const faults = [
    ...(keepsUp >= keepUpMin ? [] : [`dequeuers consume only ${fixed(keepsUp)} of the enqueued messages`]),
    ...(wait?.event === 'partition maintenance'
      ? []
      : [
          `sessions wait most for ${wait === null ? 'nothing' : `"${wait.event}"`}, not for partition maintenance`,
        ]),
  ];
  if (faults.length === 0)
    return { ...judgement, reason: `${judgement.reason} Dequeuers keep up (${fixed(keepsUp)}).` };
  return {
    ...judgement,
    verdict: 'does-not-hold',
    reason: `${judgement.reason} But ${faults.join(', and ')}.`,
  };
};

export const judgeA5: QueueJudge = (points) => {
  const unit = '× the best rate of several instances';
  const all = unsharded(points);
  const one = best(all.filter((point) => point.params.instances === 1));
  // With fewer threads than instances some instances are idle, so the point does not have that many instances.
  const several = best(
    all.filter(({ params: { instances, threads } }) => instances > 1 && threads >= instances),
  );
  if (one === null || several === null || distinct(all, 'threads').length < 2) {
    return inconclusive(
      unit,
      'Needs unsharded points of one and of several instances with at least two thread counts.',
    );
  }
  if (several.dequeuePerSec === 0) return inconclusive(unit, 'Several instances dequeued nothing.');
  const ratio = one.dequeuePerSec / several.dequeuePerSec;
  const interval = rateRatioInterval(one, several, 'dequeuePerSec');
  const wait = topWait(several);
  const lockLeads = wait?.class === 'concurrency';
  const { unshardedDequeuePerSec: document } = whitePaper;
  const cpu = fixed(one.cpuShareByInstance[0] ?? 0);
  const numbers = `Best on one instance ${perSec(one.dequeuePerSec)} (${pointInWords(one)}, ${cpu} cores busy), on several ${perSec(several.dequeuePerSec)} (${pointInWords(several)}), which wait most for ${wait === null ? 'nothing' : `"${wait.event}"`}. The document's limit of ${document.toLocaleString('en-US')}/s applies to its own hardware; here one instance is ${one.dequeuePerSec < document ? 'below' : 'above'} it.`;
  const common = { value: fixed(ratio), unit, interval: rounded(interval) };
  if (interval !== null && interval[0] <= 1 && interval[1] >= 1) {
    return { ...common, verdict: 'inconclusive', reason: `${numbers} The interval of the ratio contains 1.` };
  }
  if (interval === null && Math.abs(ratio - 1) < singleRepeatNoise) {
    const doubt =
      'A single repeat cannot distinguish rates that are so close; the full scale has more repeats.';
    return { ...common, verdict: 'inconclusive', reason: `${numbers} ${doubt}` };
  }
  const faults = [
    ...(ratio > 1 ? [] : ['several instances are not slower']),
    ...(lockLeads ? [] : ['several instances do not wait for each other']),
  ];
  return {
    ...common,
    verdict: faults.length === 0 ? 'holds' : 'does-not-hold',
    reason: `${numbers}${faults.length === 0 ? '' : ` But ${faults.join(', and ')}.`}${noInterval(Math.min(one.repeats.length, several.repeats.length))}`,
  };
};
