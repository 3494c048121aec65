/** Claim A9: response time of a dequeue from the sharded queue. A18: its growth with instances and dequeuers, for a topic. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import {
  baselinesOf,
  distinct,
  familiesOf,
  inCondition,
  provenanceOf,
  type QueueJudge,
  sharded,
  underLoad,
} from '../../../judging/queue-points.ts';
import {
  callMeanMs,
  callP50Ms,
  callP99Ms,
  highestBy,
  type Quantity,
  slopeOf,
} from '../../../judging/queue-samples.ts';
import { combined, geometricMean, type Sample } from '../../../judging/sample.ts';
import type { QueuePoint } from '../../../programs/queue/queue-point.ts';
import { whitePaper } from '../document-figures.ts';

/** Under load, and by the place of the sessions; what no scenario measures is said. */
export const judgeA9: QueueJudge = (points) => {
  const called = underLoad(sharded(points)).filter((point) => callP50Ms(point).repeats.length > 0);
  if (called.length === 0) return needs('Needs sharded points with dequeues.');
  const places = Map.groupBy(called, ({ params }) => params.sessions ?? 'embedded');
  const statement = 'under a millisecond';
  return [
    ...[...places].flatMap(([place, ofPlace]) => {
      const typical = (of: Quantity) => combined(ofPlace.map(of), geometricMean);
      const common = { condition: `${place} sessions`, under: whitePaper.dequeueCallMs, digits: 3 };
      const provenance = provenanceOf(ofPlace);
      return [
        clauseOf({
          ...common,
          provenance,
          statement: `half of the dequeues take ${statement}`,
          unit: 'ms, median dequeue call',
          sample: typical(callP50Ms),
          numbers: `The mean of ${ofPlace.length} points under load; calls are timed if messages are ready.`,
        }),
        clauseOf({
          ...common,
          provenance,
          statement: `99 of 100 take ${statement}`,
          unit: 'ms, 99th percentile of the dequeue call',
          sample: typical(callP99Ms),
        }),
      ];
    }),
    ...(places.has('remote')
      ? []
      : [
          clauseWithout('not-comparable', {
            condition: 'remote sessions',
            statement,
            reason: "These points have none; the document's clients are remote.",
          }),
        ]),
    clauseWithout('not-comparable', {
      condition: 'open loop',
      statement,
      reason:
        'Sessions work as fast as they can, so a slow call delays the next instead of letting a queue of them build up.',
    }),
  ];
};

/** Doubling the sessions or the instances adds less than 15 % to a response time that is flat… */
const flatSlopeMax = 0.2;
/** …and at least 23 % to one that rises. */
const risingSlopeMin = 0.3;
/** Two single measurements a factor of 1.2 apart, at points a factor of four apart. */
const slopeNoise = 0.13;

export const judgeA18: QueueJudge = (points) => {
  const clauses = familiesOf(points).flatMap((family): ClaimClause[] => {
    const flat = slopesOf(sharded(family.points));
    const baselines = baselinesOf(family.points);
    if (flat.length === 0) return [];
    return baselines.flatMap(({ points: plain, words, pair }) => {
      const rising = highestBy(slopesOf(plain), ({ slope }) => slope.value);
      if (rising === null) return [];
      const common = {
        condition: inCondition(family.words, words),
        provenance: family.provenance,
        noise: slopeNoise,
      };
      return [
        ...flat.map(({ axis, slope }) =>
          clauseOf({
            ...common,
            statement: `the sharded response time stays flat with ${axis}`,
            unit: 'log-log slope of the dequeue call',
            sample: slope,
            under: flatSlopeMax,
          }),
        ),
        clauseOf({
          ...common,
          statement: `the unsharded one rises with ${rising.axis}`,
          unit: 'log-log slope of the dequeue call',
          sample: rising.slope,
          over: risingSlopeMin,
          numbers: `The steeper of its slopes: ${fixed(rising.slope.value)}. ${pair.asTopic}`,
        }),
      ];
    });
  });
  return clauses.length > 0
    ? clauses
    : needs(
        'Needs points of a sharded and an unsharded topic with several numbers of instances or dequeuers.',
      );
};

/** The mean slope over instances at equal dequeuers, and the other way round; those that the points do not determine are left out. */
function slopesOf(points: readonly QueuePoint[]): { axis: string; slope: Sample }[] {
  const called = points.filter((point) => callMeanMs(point).repeats.length > 0);
  return [
    { axis: 'instances', slope: meanSlope(called, 'instances', 'threads') },
    { axis: 'dequeuers', slope: meanSlope(called, 'threads', 'instances') },
  ].filter(({ slope }) => slope.repeats.length > 0);
}

function meanSlope(
  points: readonly QueuePoint[],
  axis: 'instances' | 'threads',
  fixedAxis: 'instances' | 'threads',
): Sample {
  const slopes = distinct(points, fixedAxis).flatMap((value) => {
    // Instances without a thread are idle, and do not count as more of them.
    const line = points.filter(
      ({ params }) => params[fixedAxis] === value && params.instances <= params.threads,
    );
    return distinct(line, axis).length < 2 ? [] : [slopeOf(line, callMeanMs, axis)];
  });
  return combined(slopes, (values) => values.reduce((sum, slope) => sum + slope, 0) / values.length);
}
