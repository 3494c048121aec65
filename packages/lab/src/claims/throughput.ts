/** A2: the sharded rate against the document's. A5: where the unsharded queue is best, and what it waits for. */
import type { Point, WaitFigure } from '@shardlab/contract';
import { spread } from '@shardlab/model';
import {
  best,
  distinct,
  fixed,
  inconclusive,
  type Judge,
  noInterval,
  perSec,
  rounded,
  sharded,
  singleRepeatNoise,
  unsharded,
  where,
} from './judgement.ts';
import { whitePaper } from './ledger.ts';
import { dequeueRatioInterval } from './scaling.ts';

export const judgeA2: Judge = (points, { cores }) => {
  const unit = 'dequeues/s';
  const top = best(sharded(points));
  if (top === null) return inconclusive(unit, 'Needs sharded points.');
  const { shardedDequeuePerSec: document, nodes, coresPerNode } = whitePaper;
  const here = `${cores ?? 'an unknown number of'} ${cores === 1 ? 'core' : 'cores'}`;
  const value = Math.round(top.dequeuePerSec);
  const reached = value >= document;
  const asMany = cores !== null && cores >= nodes * coresPerNode;
  const share = fixed(value / document);
  const reason = reached
    ? `The best sharded point reaches ${perSec(value)} on ${here} (${where(top)}), past the 76,000/s of the document's ${nodes} nodes of ${coresPerNode} cores. The hardware and the clients differ, so this says that the rate is within reach, not that the systems are equal.`
    : `The best sharded point reaches ${perSec(value)} on ${here} (${where(top)}), ${share} of the 76,000/s that the document had on ${nodes} nodes of ${coresPerNode} cores${asMany ? '' : '; the absolute rate of such hardware cannot be judged here'}.`;
  return {
    verdict: reached ? 'holds' : asMany ? 'does-not-hold' : 'not-comparable',
    value,
    unit,
    interval: rounded(spread(top.repeats.map((repeat) => repeat.dequeuePerSec)), 0),
    reason: reason + noInterval(top.repeats.length),
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
  const interval = dequeueRatioInterval(one, several);
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

/** The event of the most time, waits for work and for the emulated client left out: those say nothing of the queue. */
function topWait(point: Point): WaitFigure | null {
  const own = point.waits.filter(
    (wait) => wait.class !== 'idle' && !wait.emulated && wait.event !== 'flow control',
  );
  return own.reduce<WaitFigure | null>(
    (top, wait) => (top === null || wait.totalMs > top.totalMs ? wait : top),
    null,
  );
}
