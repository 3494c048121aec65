/** Claim W8: how the conversion of a queue affects its clients. */
import type { ConversionOutcome } from '@shardlab/contract';
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
import type { QueueJudge } from '../../../judging/queue-points.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';

/** Clients that reach half of their previous rate after the conversion have continued. Whether they are faster is up to A1 to A5. */
const shareMin = 0.5;

export const judgeW8: QueueJudge = (points) => {
  const unit = 'dequeues after ÷ before the conversion';
  const converted = points.filter((point) => conversionsOf(point).length > 0);
  const conversions = converted.flatMap(conversionsOf);
  if (conversions.length === 0) return inconclusive(unit, 'Needs points with a conversion.');
  const shares = conversions.flatMap(({ dequeuePerSec: { before, after } }) =>
    before === 0 ? [] : [after / before],
  );
  if (shares.length < conversions.length) {
    return inconclusive(
      unit,
      'Nothing was dequeued before a conversion, so there is nothing to compare with.',
    );
  }
  const endless = conversions.filter(({ withoutEnqueueMs }) => withoutEnqueueMs === null).length;
  const faults = [
    ...(converted.some(isFaulty) ? ['messages were lost, duplicated, damaged or out of order'] : []),
    ...(endless > 0
      ? [`after ${endless} of ${conversions.length} conversions no enqueue was acknowledged`]
      : []),
  ];
  const value = fixed(median(shares), 2);
  const interval = rounded(spread(shares), 2);
  const medianOf = (read: (conversion: ConversionOutcome) => number) => median(conversions.map(read));
  const pause = medianOf(({ withoutEnqueueMs }) => withoutEnqueueMs ?? Number.POSITIVE_INFINITY);
  const reason = `${conversions.length} ${conversions.length === 1 ? 'conversion' : 'conversions'} under load: ${fixed(
    medianOf(({ tookMs }) => tookMs),
    0,
  )} ms at the median, ${pause === Number.POSITIVE_INFINITY ? 'no enqueue acknowledged afterwards' : `${fixed(pause, 0)} ms without an acknowledged enqueue`}; dequeues ${perSec(medianOf(({ dequeuePerSec }) => dequeuePerSec.before))} before and ${perSec(medianOf(({ dequeuePerSec }) => dequeuePerSec.after))} after. A ratio of ${shareMin} or more means that clients continue.`;
  if (faults.length > 0) {
    const words = `${reason} But ${faults.join(', and ')}.`;
    return { verdict: 'does-not-hold', value, unit, interval, reason: words };
  }
  return {
    verdict: verdictAgainstBar({ value, interval, bar: shareMin, wanted: 'over' }),
    value,
    unit,
    interval,
    reason: `${reason} No message was lost, duplicated, damaged or out of order.${noInterval(conversions.length)}`,
  };
};

const conversionsOf = (point: QueuePoint): ConversionOutcome[] =>
  point.repeats.flatMap(({ conversion }) => (conversion === undefined ? [] : [conversion]));
