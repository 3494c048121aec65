/** A2, A11, A12, A16: sharded rates against the document's. A5: where the unsharded queue is best, and what it waits for. */
import type { Point } from '@shardlab/contract';
import { spread } from '@shardlab/model';
import {
  best,
  distinct,
  fixed,
  inconclusive,
  type Judge,
  keepUpMin,
  keepUpRatio,
  largeBatchMin,
  noInterval,
  perSec,
  rounded,
  sharded,
  singleRepeatNoise,
  topWait,
  unsharded,
  where,
} from './judgement.ts';
import { whitePaper } from './ledger.ts';
import { rateRatioInterval } from './scaling.ts';

interface RateClaim {
  unit: string;
  needs: string;
  document: number;
  /** Points that may show it. */
  of(points: readonly Point[]): readonly Point[];
  rate(measured: { enqueuePerSec: number; dequeuePerSec: number }): number;
}

/** An absolute rate of the document: reached, or not to be expected of less hardware. */
export function judgeRate(claim: RateClaim): Judge {
  const { unit, document, rate } = claim;
  return (points, { cores }) => {
    const top = bestBy(claim.of(points), rate);
    if (top === null) return inconclusive(unit, claim.needs);
    const { nodes, coresPerNode } = whitePaper;
    const here = `${cores ?? 'an unknown number of'} ${cores === 1 ? 'core' : 'cores'}`;
    const value = Math.round(rate(top));
    const reached = value >= document;
    const asMany = cores !== null && cores >= nodes * coresPerNode;
    const reason = reached
      ? `The best sharded point reaches ${perSec(value)} on ${here} (${where(top)}), past the ${perSec(document)} of the document's ${nodes} nodes of ${coresPerNode} cores. The hardware and the clients differ, so this says that the rate is within reach, not that the systems are equal.`
      : `The best sharded point reaches ${perSec(value)} on ${here} (${where(top)}), ${fixed(value / document)} of the ${perSec(document)} that the document had on ${nodes} nodes of ${coresPerNode} cores${asMany ? '' : '; the absolute rate of such hardware cannot be judged here'}.`;
    return {
      verdict: reached ? 'holds' : asMany ? 'does-not-hold' : 'not-comparable',
      value,
      unit,
      interval: rounded(spread(top.repeats.map(rate)), 0),
      reason: reason + noInterval(top.repeats.length),
    };
  };
}

function bestBy(points: readonly Point[], rate: RateClaim['rate']): Point | null {
  return points.reduce<Point | null>(
    (top, point) => (top === null || rate(point) > rate(top) ? point : top),
    null,
  );
}

const isLarge = ({ params }: Point) => params.operationsPerTransaction >= largeBatchMin;

export const judgeA2 = judgeRate({
  unit: 'dequeues/s',
  needs: 'Needs sharded points.',
  document: whitePaper.shardedDequeuePerSec,
  of: sharded,
  rate: ({ dequeuePerSec }) => dequeuePerSec,
});

export const judgeA12 = judgeRate({
  unit: 'dequeues/s',
  needs: 'Needs points of a sharded topic.',
  document: whitePaper.topicDequeuePerSec,
  of: (points) => sharded(points).filter((point) => !isLarge(point)),
  rate: ({ dequeuePerSec }) => dequeuePerSec,
});

export const judgeA16 = judgeRate({
  unit: 'enqueues and dequeues/s',
  needs: `Needs points of a sharded topic with at least ${largeBatchMin} operations a transaction.`,
  document: whitePaper.topicLargeBatchOperationsPerSec,
  of: (points) => sharded(points).filter(isLarge),
  rate: ({ enqueuePerSec, dequeuePerSec }) => enqueuePerSec + dequeuePerSec,
});

const judgeLargeRate = judgeRate({
  unit: 'dequeues/s',
  needs: `Needs points of a sharded queue with at least ${largeBatchMin} operations a transaction.`,
  document: whitePaper.largeBatchDequeuePerSec,
  of: (points) => sharded(points).filter(isLarge),
  rate: ({ dequeuePerSec }) => dequeuePerSec,
});

/** The rate, and with it that dequeuers keep up and that the management of partitions is what sessions wait for most. */
export const judgeA11: Judge = (points, context) => {
  const judgement = judgeLargeRate(points, context);
  const top = best(sharded(points).filter(isLarge));
  if (top === null || judgement.verdict === 'not-comparable') return judgement;
  const keepsUp = keepUpRatio(top);
  const wait = topWait(top);
  const faults = [
    ...(keepsUp >= keepUpMin ? [] : [`dequeuers consume only ${fixed(keepsUp)} of what is enqueued`]),
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

export const judgeA5: Judge = (points) => {
  const unit = '× the best of several instances';
  const all = unsharded(points);
  const one = best(all.filter((point) => point.params.instances === 1));
  // With fewer threads than instances the rest idles, which is one instance again.
  const several = best(
    all.filter(({ params: { instances, threads } }) => instances > 1 && threads >= instances),
  );
  if (one === null || several === null || distinct(all, 'threads').length < 2) {
    return inconclusive(
      unit,
      'Needs unsharded points of one and of several instances, with at least two thread counts.',
    );
  }
  if (several.dequeuePerSec === 0) return inconclusive(unit, 'Several instances dequeued nothing.');
  const ratio = one.dequeuePerSec / several.dequeuePerSec;
  const interval = rateRatioInterval(one, several, 'dequeuePerSec');
  const wait = topWait(several);
  const lockLeads = wait?.class === 'concurrency';
  const { unshardedDequeuePerSec: document } = whitePaper;
  const cpu = fixed(one.cpuShareByInstance[0] ?? 0);
  const numbers = `Best on one instance ${perSec(one.dequeuePerSec)} (${where(one)}, ${cpu} cores busy), on several ${perSec(several.dequeuePerSec)} (${where(several)}), which wait most for ${wait === null ? 'nothing' : `"${wait.event}"`}. The document's bound of ${document.toLocaleString('en-US')}/s is of its own hardware: here one instance is ${one.dequeuePerSec < document ? 'under' : 'over'} it.`;
  const common = { value: fixed(ratio), unit, interval: rounded(interval) };
  if (interval !== null && interval[0] <= 1 && interval[1] >= 1) {
    return { ...common, verdict: 'inconclusive', reason: `${numbers} The interval of the ratio contains 1.` };
  }
  if (interval === null && Math.abs(ratio - 1) < singleRepeatNoise) {
    const doubt = 'One repeat cannot tell rates so near each other apart; the full scale has more.';
    return { ...common, verdict: 'inconclusive', reason: `${numbers} ${doubt}` };
  }
  const faults = [
    ...(ratio > 1 ? [] : ['several instances are not slower']),
    ...(lockLeads ? [] : ['what several instances wait for is not each other']),
  ];
  return {
    ...common,
    verdict: faults.length === 0 ? 'holds' : 'does-not-hold',
    reason: `${numbers}${faults.length === 0 ? '' : ` But ${faults.join(', and ')}.`}${noInterval(Math.min(one.repeats.length, several.repeats.length))}`,
  };
};
