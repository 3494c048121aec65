/** A8: whether instances share the work evenly. A10: what sessions wait for where the sharded queue is at its best. */
import type { Point, Repeat, Verdict, WaitFigure } from '@shardlab/contract';
import { median, spread } from '@shardlab/model';
import {
  best,
  fixed,
  inconclusive,
  type Judge,
  noInterval,
  ownWaits,
  percent,
  perSec,
  rounded,
  sharded,
  sideOf,
  topWait,
  where,
} from './judgement.ts';

/** An instance that does at least this share of the mean does as much as the others: what a short window tells. */
const evenMin = 0.8;
/** Measured once, less than that may still be chance; `evenMin` itself has room for it. */
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
  const repeats = Math.min(...shared.map((point) => point.repeats.length));
  const interval = spread(mediansByRepeat(shared, repeats));
  return {
    verdict:
      interval === null ? onceMeasured(value) : sideOf({ value, interval, bar: evenMin, wanted: 'over' }),
    value: fixed(value),
    unit,
    interval: rounded(interval),
    reason: `Median of ${shared.length} points with as many sessions on each instance; the lowest is ${fixed(evenness(worst))} (${where(worst)}). ${evenMin} or more counts as even.${noInterval(repeats)}`,
  };
};

function onceMeasured(value: number): Verdict {
  if (value >= evenMin) return 'holds';
  return value > unevenBelow ? 'inconclusive' : 'does-not-hold';
}

/** Rate of the instance that dequeues least, as a share of the mean: 1 is even. */
function evenness({ dequeuePerSecByInstance: rates }: { dequeuePerSecByInstance: number[] }): number {
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return mean === 0 ? 0 : Math.min(...rates) / mean;
}

/** The same median in each repeat; none where points of an older run do not have the rates of their repeats. */
function mediansByRepeat(points: readonly Point[], repeats: number): number[] {
  const medians = Array.from({ length: repeats }, (_, repeat) => {
    const evens = points.flatMap(({ repeats: all }) => {
      const { dequeuePerSecByInstance } = all[repeat]!;
      return dequeuePerSecByInstance === undefined ? [] : [evenness({ dequeuePerSecByInstance })];
    });
    return evens.length === points.length ? [median(evens)] : [];
  });
  return medians.flat();
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
  const value = commit + partitions;
  const interval = spread(top.repeats.flatMap((repeat) => limitShareOf(repeat, waits) ?? []));
  const common = { value: fixed(value, 3), unit, interval: rounded(interval, 3) };
  if (cores !== null && busy >= cpuFull * cores) {
    return {
      ...common,
      verdict: 'not-comparable',
      reason: `${numbers} So the CPU is the limit here, before commits or partitions could be; the document had ${percent(0.1)} of its CPU in use.`,
    };
  }
  const verdict = sideOf({ value, interval, bar: limitShareMin, wanted: 'over' });
  const most = verdict === 'holds' ? '' : ` They wait most for "${topWait(top)?.event}".`;
  return { ...common, verdict, reason: `${numbers}${most}${noInterval(top.repeats.length)}` };
};

/** What the two events are of the waits of one repeat; undefined if it does not say. */
function limitShareOf({ waitMs }: Repeat, waits: readonly WaitFigure[]): number | undefined {
  if (waitMs === undefined) return undefined;
  const total = waits.reduce((sum, { event }) => sum + (waitMs[event] ?? 0), 0);
  return total === 0
    ? undefined
    : ((waitMs['log file sync'] ?? 0) + (waitMs['partition maintenance'] ?? 0)) / total;
}
