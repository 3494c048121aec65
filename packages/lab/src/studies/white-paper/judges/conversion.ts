/** Claim W8: how the conversion of a queue affects its clients. */
import type { ClaimClause, ConversionOutcome } from '@shardlab/contract';
import { median } from '@shardlab/model';
import { clauseOf, failed, fixed, needs } from '../../../judging/clause.ts';
import { isFaulty } from '../../../judging/judgement.ts';
import { provenanceOf, type QueueJudge } from '../../../judging/queue-points.ts';
import { sampleOf } from '../../../judging/sample.ts';
import { perSec, plural } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';

/** Clients that reach half of their previous rate after the conversion have continued. Whether they are faster is up to A1 to A5. */
const shareMin = 0.5;

export const judgeW8: QueueJudge = (points) => {
  const converted = points.filter((point) => conversionsOf(point).length > 0);
  const conversions = converted.flatMap(conversionsOf);
  if (conversions.length === 0) return needs('Needs points with a conversion.');
  const shares = conversions.flatMap(({ dequeuePerSec: { before, after } }) =>
    before === 0 ? [] : [after / before],
  );
  if (shares.length < conversions.length)
    return needs('Nothing was dequeued before a conversion, so there is nothing to compare with.');
  const endless = conversions.filter(({ withoutEnqueueMs }) => withoutEnqueueMs === null).length;
  const medianOf = (read: (conversion: ConversionOutcome) => number) => median(conversions.map(read));
  const pause = medianOf(({ withoutEnqueueMs }) => withoutEnqueueMs ?? Number.POSITIVE_INFINITY);
  const numbers = `${plural(conversions.length, 'conversion')} under load: ${fixed(
    medianOf(({ tookMs }) => tookMs),
    0,
  )} ms at the median, ${pause === Number.POSITIVE_INFINITY ? 'no enqueue acknowledged afterwards' : `${fixed(pause, 0)} ms without an acknowledged enqueue`}; dequeues ${perSec(medianOf(({ dequeuePerSec }) => dequeuePerSec.before))} before and ${perSec(medianOf(({ dequeuePerSec }) => dequeuePerSec.after))} after.`;
  const clause = clauseOf({
    statement: 'clients continue',
    unit: 'dequeues after ÷ before the conversion',
    sample: sampleOf(shares),
    over: shareMin,
    provenance: provenanceOf(converted),
    numbers,
  });
  const faults = [
    ...(converted.some(isFaulty) ? ['messages were lost, duplicated, damaged or out of order'] : []),
    ...(endless > 0
      ? [`after ${endless} of ${conversions.length} conversions no enqueue was acknowledged`]
      : []),
  ];
  return [clause, ...faults.map((fault): ClaimClause => failed(clause, fault))];
};

const conversionsOf = (point: QueuePoint): ConversionOutcome[] =>
  point.repeats.flatMap(({ conversion }) => (conversion === undefined ? [] : [conversion]));
