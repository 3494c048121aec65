/** W7: what a killed instance does to service and to messages. */
import type { FaultOutcome, Point } from '@shardlab/contract';
import { median, spread } from '@shardlab/model';
import {
  fixed,
  inconclusive,
  isFaulty,
  type Judge,
  noInterval,
  perSec,
  rounded,
  sharded,
  sideOf,
} from './judgement.ts';

/** Within this a survivor is to serve a killed instance: its lease of a second, and as much again to recover. */
const serviceMsMax = 2_000;

export const judgeW7: Judge = (points) => {
  const unit = 'ms without service after a kill';
  const of = sharded(points).filter((point) => killsOf(point).length > 0);
  const kills = of.flatMap(killsOf);
  if (kills.length === 0) return inconclusive(unit, 'Needs sharded points at which an instance was killed.');
  const times = kills.flatMap(({ withoutServiceMs }) => withoutServiceMs ?? []);
  const worst = Math.max(...times);
  const faults = [
    ...(of.some(isFaulty) ? ['messages were lost, doubled, damaged or out of order'] : []),
    ...(times.length < kills.length
      ? [`${kills.length - times.length} of ${kills.length} instances never were served again`]
      : []),
  ];
  const value = times.length === 0 ? null : fixed(median(times), 0);
  const interval = times.length < kills.length ? null : rounded(spread(times), 0);
  const rate = (read: (kill: FaultOutcome) => number) => perSec(median(kills.map(read)));
  const reason = `${kills.length} ${kills.length === 1 ? 'instance' : 'instances'} killed at full rate: ${value === null ? '' : `without service for ${value} ms in the middle, ${fixed(worst, 0)} ms at most. `}All instances dequeue ${rate((kill) => kill.dequeuePerSec.before)} before, ${rate((kill) => kill.dequeuePerSec.during)} meanwhile and ${rate((kill) => kill.dequeuePerSec.after)} after, with one process less. ${serviceMsMax / 1000} s at most counts as available.`;
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
    verdict: sideOf({ value: worst, interval, bar: serviceMsMax, wanted: 'under' }),
    value,
    unit,
    interval,
    reason: `${reason} No message was lost, doubled, damaged or out of order.${noInterval(kills.length)}`,
  };
};

const killsOf = (point: Point): FaultOutcome[] =>
  point.repeats.flatMap(({ faults = [] }) => faults.filter(({ kind }) => kind === 'kill'));
