/** Claim W7: the effect of a killed instance on service and messages. */
import type { FaultOutcome } from '@shardlab/contract';
import { median, spread } from '@shardlab/model';
import {
  fixed,
  inconclusive,
  isFaulty,
  noInterval,
  perSec,
  rounded,
  verdictAgainstBar,
} from '../../../judging/judgement.ts';
import { type QueueJudge, sharded } from '../../../judging/queue-points.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';

/** A survivor must serve a killed instance within this time: the lease of a second, and another second for recovery. */
const serviceMsMax = 2_000;

export const judgeW7: QueueJudge = (points) => {
  const unit = 'ms outage after a kill';
  const withKills = sharded(points).filter((point) => killsOf(point).length > 0);
  const kills = withKills.flatMap(killsOf);
  if (kills.length === 0) return inconclusive(unit, 'Needs sharded points with a killed instance.');
  const times = kills.flatMap(({ outageMs }) => outageMs ?? []);
  const worst = Math.max(...times);
  const faults = [
    ...(withKills.some(isFaulty) ? ['messages were lost, duplicated, damaged or out of order'] : []),
    ...(times.length < kills.length
      ? [`${kills.length - times.length} of ${kills.length} instances were never served again`]
      : []),
  ];
  const value = times.length === 0 ? null : fixed(median(times), 0);
  const interval = times.length < kills.length ? null : rounded(spread(times), 0);
  const rate = (read: (kill: FaultOutcome) => number) => perSec(median(kills.map(read)));
  const reason = `${kills.length} ${kills.length === 1 ? 'instance' : 'instances'} killed at full load: ${value === null ? '' : `median outage ${value} ms, longest ${fixed(worst, 0)} ms. `}All instances together dequeue ${rate((kill) => kill.dequeuePerSec.before)} before, ${rate((kill) => kill.dequeuePerSec.during)} during the outage, and ${rate((kill) => kill.dequeuePerSec.after)} after it with one process less. An outage of up to ${serviceMsMax / 1000} s counts as available.`;
  if (faults.length > 0) {
    return {
      verdict: 'does-not-hold',
      value,
      unit,
      interval,
      reason: `${reason} But ${faults.join(', and ')}.`,
    };
  }
  return {
    verdict: verdictAgainstBar({ value: worst, interval, bar: serviceMsMax, wanted: 'under' }),
    value,
    unit,
    interval,
    reason: `${reason} No message was lost, duplicated, damaged or out of order.${noInterval(kills.length)}`,
  };
};

const killsOf = (point: QueuePoint): FaultOutcome[] =>
  point.repeats.flatMap(({ faults = [] }) => faults.filter(({ kind }) => kind === 'kill'));
