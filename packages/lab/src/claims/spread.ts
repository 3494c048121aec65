/** A8: whether instances share the work evenly. A10: what sessions wait for where the sharded queue is at its best. */
import type { Point } from '@shardlab/contract';
import { median } from '@shardlab/model';
import {
  best,
  fixed,
  inconclusive,
  type Judge,
  ownWaits,
  percent,
  perSec,
  sharded,
  topWait,
  where,
} from './judgement.ts';

/** An instance that does at least this share of the mean does as much as the others: what a short window tells. */
const evenMin = 0.8;
/** Measured once, less than that may still be chance. */
const unevenBelow = 0.6;

export const judgeA8: Judge = (points) => {
  const unit = 'of the mean, the least busy instance';
  const shared = sharded(points).filter(
    ({ params: { instances, threads }, dequeuePerSec }) =>
      instances > 1 && threads % instances === 0 && dequeuePerSec > 0,
  );
  const worst = shared.reduce<Point | null>(
    (low, point) => (low === null || evenness(point) < evenness(low) ? point : low),
    null,
  );
  if (worst === null) {
    return inconclusive(unit, 'Needs sharded points of several instances with as many threads on each.');
  }
  const value = median(shared.map(evenness));
  const isDoubtful = value > unevenBelow && worst.repeats.length < 2;
  return {
    verdict: value >= evenMin ? 'holds' : isDoubtful ? 'inconclusive' : 'does-not-hold',
    value: fixed(value),
    unit,
    interval: null,
    reason: `Median of ${shared.length} points with as many sessions on each instance; the lowest is ${fixed(evenness(worst))} (${where(worst)}). ${evenMin} or more counts as even. No interval: a median over different points.`,
  };
};

/** Rate of the instance that dequeues least, as a share of the mean: 1 is even. */
function evenness({ dequeuePerSecByInstance: rates }: Point): number {
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return mean === 0 ? 0 : Math.min(...rates) / mean;
}

/** A machine that is this busy has its limit in the CPU, whatever sessions wait for. */
const cpuFull = 0.85;
/** The two events are the limit if they are at least this share of what sessions wait for. */
const limitShareMin = 0.5;

export const judgeA10: Judge = (points, { cores }) => {
  const unit = 'of the waits are commits and partitions';
  const top = best(sharded(points));
  const waits = top === null ? [] : ownWaits(top);
  const total = waits.reduce((sum, wait) => sum + wait.totalMs, 0);
  if (top === null || total === 0) return inconclusive(unit, 'Needs a sharded point with waits.');
  const timeOf = (event: string) => waits.find((wait) => wait.event === event)?.totalMs ?? 0;
  const [commit, partitions] = [timeOf('log file sync') / total, timeOf('partition maintenance') / total];
  const busy = top.cpuShareByInstance.reduce((sum, share) => sum + share, 0);
  const cpu = cores === null ? '' : `; ${fixed(busy)} of ${cores} cores are busy`;
  const numbers = `At the best sharded point, ${perSec(top.dequeuePerSec)} (${where(top)}), "log file sync" is ${percent(commit)} and "partition maintenance" ${percent(partitions)} of what sessions wait for${cpu}.`;
  const common = { value: fixed(commit + partitions, 3), unit, interval: null };
  if (cores !== null && busy >= cpuFull * cores) {
    return {
      ...common,
      verdict: 'not-comparable',
      reason: `${numbers} So the CPU is the limit here, before commits or partitions could be; the document had ${percent(0.1)} of its CPU in use.`,
    };
  }
  const holds = commit + partitions >= limitShareMin;
  return {
    ...common,
    verdict: holds ? 'holds' : 'does-not-hold',
    reason: `${numbers}${holds ? '' : ` But they wait most for "${topWait(top)?.event}".`} No interval: waits are summed over the repeats.`,
  };
};
