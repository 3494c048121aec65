/** Claim A8: whether instances share the work evenly. A10: what sessions wait for at the best point of the sharded queue. */
import type { Repeat, Verdict, WaitSummary } from '@shardlab/contract';
import { median, spread } from '@shardlab/model';
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
  queueWaits,
  sharded,
  topWait,
} from '../../../judging/queue-points.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';

/** An instance with at least this share of the mean rate does as much as the others, given the noise of a short window. */
const evenMin = 0.8;
/** With a single measurement, only less than this proves unevenness; between the two bars it may be chance. */
const unevenBelow = 0.6;

export const judgeA8: QueueJudge = (points) => {
  const unit = 'of the mean rate, least busy instance';
  const shared = sharded(points).filter(
    ({ params: { instances, threads }, dequeuePerSec }) =>
      instances > 1 && threads % instances === 0 && dequeuePerSec > 0,
  );
  const worst = shared.reduce<QueuePoint | null>(
    (low, point) => (low === null || evenness(point) < evenness(low) ? point : low),
    null,
  );
  if (worst === null) {
    return inconclusive(unit, 'Needs sharded points of several instances with equal numbers of threads.');
  }
  const value = median(shared.map(evenness));
  const repeats = Math.min(...shared.map((point) => point.repeats.length));
  const interval = spread(mediansByRepeat(shared, repeats));
  return {
    verdict:
      interval === null
        ? verdictOfSingleRepeat(value)
        : verdictAgainstBar({ value, interval, bar: evenMin, wanted: 'over' }),
    value: fixed(value),
    unit,
    interval: rounded(interval),
    reason: `Median of ${shared.length} points with equal numbers of sessions per instance; the lowest is ${fixed(evenness(worst))} (${pointInWords(worst)}). ${evenMin} or more counts as even.${noInterval(repeats)}`,
  };
};

function verdictOfSingleRepeat(value: number): Verdict {
  if (value >= evenMin) return 'holds';
  return value > unevenBelow ? 'inconclusive' : 'does-not-hold';
}

/** The lowest rate of an instance as a share of the mean rate; 1 is perfectly even. */
function evenness({ dequeuePerSecByInstance: rates }: { dequeuePerSecByInstance: number[] }): number {
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return mean === 0 ? 0 : Math.min(...rates) / mean;
}

/** The median evenness in each repeat; empty if points of an older run lack the rates of their repeats. */
function mediansByRepeat(points: readonly QueuePoint[], repeats: number): number[] {
  const medians = Array.from({ length: repeats }, (_, repeat) => {
    const evens = points.flatMap(({ repeats: all }) => {
      const { dequeuePerSecByInstance } = all[repeat]!;
      return dequeuePerSecByInstance === undefined ? [] : [evenness({ dequeuePerSecByInstance })];
    });
    return evens.length === points.length ? [median(evens)] : [];
  });
  return medians.flat();
}

/** Above this share of busy cores the CPU is the limit, whatever sessions wait for. */
const cpuFull = 0.85;
/** The two events are the limit if they make up at least this share of the waiting time. */
const limitShareMin = 0.5;

export const judgeA10: QueueJudge = (points, { cores }) => {
  const unit = 'of the waiting time is commits and partition maintenance';
  const top = best(sharded(points));
  const waits = top === null ? [] : queueWaits(top);
  const total = waits.reduce((sum, wait) => sum + wait.totalMs, 0);
  if (top === null || total === 0) return inconclusive(unit, 'Needs a sharded point with waits.');
  const timeOf = (event: string) => waits.find((wait) => wait.event === event)?.totalMs ?? 0;
  const [commit, partitions] = [timeOf('log file sync') / total, timeOf('partition maintenance') / total];
  const busy = top.cpuShareByInstance.reduce((sum, share) => sum + share, 0);
  const cpu = cores === null ? '' : `; ${fixed(busy)} of ${cores} cores are busy`;
  const numbers = `At the best sharded point, ${perSec(top.dequeuePerSec)} (${pointInWords(top)}), "log file sync" is ${percent(commit)} and "partition maintenance" ${percent(partitions)} of the waiting time of sessions${cpu}.`;
  const value = commit + partitions;
  const interval = spread(top.repeats.flatMap((repeat) => limitShareOf(repeat, waits) ?? []));
  const common = { value: fixed(value, 3), unit, interval: rounded(interval, 3) };
  if (cores !== null && busy >= cpuFull * cores) {
    return {
      ...common,
      verdict: 'not-comparable',
      reason: `${numbers} So the CPU is the limit here; the document's systems used ${percent(0.1)} of their CPU.`,
    };
  }
  const verdict = verdictAgainstBar({ value, interval, bar: limitShareMin, wanted: 'over' });
  const most = verdict === 'holds' ? '' : ` They wait most for "${topWait(top)?.event}".`;
  return { ...common, verdict, reason: `${numbers}${most}${noInterval(top.repeats.length)}` };
};

/** The share of the two events in the waiting time of one repeat; undefined if it was not recorded. */
function limitShareOf({ waitMs }: Pick<Repeat, 'waitMs'>, waits: readonly WaitSummary[]): number | undefined {
  const total = waits.reduce((sum, { event }) => sum + (waitMs[event] ?? 0), 0);
  return total === 0
    ? undefined
    : ((waitMs['log file sync'] ?? 0) + (waitMs['partition maintenance'] ?? 0)) / total;
}
