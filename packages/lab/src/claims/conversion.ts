/** W8: what the conversion of a queue does to those who use it. */
import type { ConversionOutcome, Point } from '@shardlab/contract';
import { median, spread } from '@shardlab/model';
import {
  fixed,
  inconclusive,
  isFaulty,
  type Judge,
  noInterval,
  perSec,
  rounded,
  sideOf,
} from './judgement.ts';

/** Clients that enqueue and dequeue afterwards at half their rate of before have gone on; that they do so faster is A1 to A5. */
const shareMin = 0.5;

export const judgeW8: Judge = (points) => {
  const unit = 'dequeues after ÷ before the conversion';
  const of = points.filter((point) => conversionsOf(point).length > 0);
  const conversions = of.flatMap(conversionsOf);
  if (conversions.length === 0) return inconclusive(unit, 'Needs points at which a queue was converted.');
  const shares = conversions.flatMap(({ dequeuePerSec: { before, after } }) =>
    before === 0 ? [] : [after / before],
  );
  if (shares.length < conversions.length) {
    return inconclusive(unit, 'Nothing was dequeued before a conversion, so it cannot be compared.');
  }
  const endless = conversions.filter(({ withoutEnqueueMs }) => withoutEnqueueMs === null).length;
  const faults = [
    ...(of.some(isFaulty) ? ['messages were lost, doubled, damaged or out of order'] : []),
    ...(endless > 0
      ? [`after ${endless} of ${conversions.length} no enqueue was acknowledged any more`]
      : []),
  ];
  const value = fixed(median(shares), 2);
  const interval = rounded(spread(shares), 2);
  const mid = (read: (conversion: ConversionOutcome) => number) => median(conversions.map(read));
  const pause = mid(({ withoutEnqueueMs }) => withoutEnqueueMs ?? Number.POSITIVE_INFINITY);
  const reason = `${conversions.length} ${conversions.length === 1 ? 'conversion' : 'conversions'} under load: ${fixed(
    mid(({ tookMs }) => tookMs),
    0,
  )} ms in the middle, ${fixed(pause, 0)} ms without an enqueue; dequeues ${perSec(mid(({ dequeuePerSec }) => dequeuePerSec.before))} before and ${perSec(mid(({ dequeuePerSec }) => dequeuePerSec.after))} after. ${shareMin} counts as going on.`;
  if (faults.length > 0) {
    const words = `${reason} But ${faults.join(', and ')}.`;
    return { verdict: 'does-not-hold', value, unit, interval, reason: words };
  }
  return {
    verdict: sideOf({ value, interval, bar: shareMin, wanted: 'over' }),
    value,
    unit,
    interval,
    reason: `${reason} No message was lost, doubled, damaged or out of order.${noInterval(conversions.length)}`,
  };
};

const conversionsOf = (point: Point): ConversionOutcome[] =>
  point.repeats.flatMap(({ conversion }) => (conversion === undefined ? [] : [conversion]));
