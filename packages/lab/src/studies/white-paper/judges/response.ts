/** Claim A9: response time of a dequeue from the sharded queue. A18: its growth with instances and dequeuers, for a topic. */
import { type ClaimClause, figureOf, type Point } from '@shardlab/contract';
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import { onMemoryDisk } from '../../../judging/evidence.ts';
import type { Judge, JudgeContext } from '../../../judging/judgement.ts';
import { ofType } from '../../../judging/of-type.ts';
import { figureSample, provenanceOfPoints } from '../../../judging/point-samples.ts';
import {
  baselinesOf,
  distinct,
  familiesOf,
  inCondition,
  provenanceOf,
  type QueueJudge,
  sessionsInWords,
  sharded,
  underLoad,
} from '../../../judging/queue-points.ts';
import {
  callMeanMs,
  callP50Ms,
  callP99Ms,
  highestBy,
  keepUpMin,
  keepUpNoise,
  lowestBy,
  type Quantity,
  slopeOf,
} from '../../../judging/queue-samples.ts';
import { combined, geometricMean, ratioOf, type Sample } from '../../../judging/sample.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';
import { whitePaper } from '../document/document-figures.ts';

const statement = 'under a millisecond';

/**
 * Calls in a closed loop, where sessions work as fast as they can; and in an open loop, where a slow call lets a queue of messages build
 * up, the time from the intended send time to the delivery. What no scenario measures is said.
 */
export const judgeA9: Judge = (points, context) => {
  const [closed, open] = [
    points.filter(({ program }) => program === 'queue'),
    points.filter(({ program }) => program === 'open-loop'),
  ];
  if (closed.length + open.length === 0) return needs('Needs sharded points with dequeues.');
  return [
    ...(closed.length === 0 ? [] : ofType('queue', judgeCalls)(closed, context)),
    ...judgeOpenLoop(open, context),
  ];
};

/** Under load, by the place of the sessions and the size of their transactions. */
const judgeCalls: QueueJudge = (points) => {
  const called = underLoad(sharded(points)).filter((point) => callP50Ms(point).repeats.length > 0);
  if (called.length === 0) return needs('Needs sharded points with dequeues.');
  const ways = Map.groupBy(called, sessionsInWords);
  return [
    ...[...ways].flatMap(([condition, ofWay]) => {
      const typical = (of: Quantity) => combined(ofWay.map(of), geometricMean);
      const common = {
        condition,
        under: whitePaper.dequeueCallMs,
        digits: 3,
        provenance: provenanceOf(ofWay),
      };
      return [
        clauseOf({
          ...common,
          statement: `half of the dequeues take ${statement}`,
          unit: 'ms, median dequeue call',
          sample: typical(callP50Ms),
          numbers: `${meanInWords(ofWay.length)} under load; calls are timed if messages are ready.`,
        }),
        clauseOf({
          ...common,
          statement: `99 of 100 take ${statement}`,
          unit: 'ms, 99th percentile of the dequeue call',
          sample: typical(callP99Ms),
        }),
      ];
    }),
    ...(called.some(({ params }) => params.sessions === 'remote')
      ? []
      : [
          clauseWithout('not-comparable', {
            condition: 'remote sessions',
            statement,
            reason: "These points have none; the document's clients are remote.",
          }),
        ]),
  ];
};

const openLoops = [
  { system: 'sharded', condition: 'open loop, embedded sessions' },
  { system: 'sharded-remote', condition: 'open loop, remote sessions' },
] as const;

/**
 * Can refute the claim, and not show it: of these trials neither the waits nor the kernel's counters are known, so a queue in memory
 * would be told from a durable one by nothing.
 */
function judgeOpenLoop(points: readonly Point[], context: JudgeContext): ClaimClause[] {
  return openLoops.flatMap(({ system, condition }): ClaimClause[] => {
    const ofSystem = points.filter((point) => point.system === system);
    const undecided = (verdict: 'inconclusive' | 'not-comparable', reason: string) => [
      clauseWithout(verdict, { condition, statement, reason }),
    ];
    if (ofSystem.length === 0)
      return undecided(
        'not-comparable',
        'Not measured by these points, whose sessions work as fast as they can.',
      );
    const inMemory = onMemoryDisk(context);
    if (inMemory !== null) return undecided('inconclusive', inMemory);
    const typical = (figure: string) =>
      combined(
        ofSystem.map((point) => figureSample(point, figure)),
        geometricMean,
      );
    const [half, most] = [typical('latencyP50Ms'), typical('latencyP99Ms')];
    if (half.repeats.length === 0)
      return undecided(
        'inconclusive',
        'At one of the rates the backlog was steady in no repeat, so the time would be that of the run.',
      );
    const common = {
      condition,
      under: whitePaper.dequeueCallMs,
      digits: 3,
      provenance: provenanceOfPoints(ofSystem),
    };
    const clauses = [
      clauseOf({
        ...common,
        statement: `half of the messages arrive ${statement} after they were to be sent`,
        unit: 'ms, median from the intended send time to the delivery',
        sample: half,
        numbers: `${meanInWords(ofSystem.length)}, at ${ratesInWords(ofSystem)}; it includes the commit of the enqueue.`,
      }),
      clauseOf({
        ...common,
        statement: `99 of 100 arrive ${statement} after it`,
        unit: 'ms, 99th percentile from the intended send time to the delivery',
        sample: most,
      }),
      clauseOf({
        condition,
        provenance: common.provenance,
        statement: 'at the rate at which they were to be sent',
        unit: 'of the intended rate are delivered',
        sample: lowestBy(ofSystem.map(delivered), ({ value }) => value)!,
        over: keepUpMin,
        noise: keepUpNoise,
      }),
    ];
    return clauses.some(({ verdict }) => verdict !== 'holds')
      ? clauses
      : clauses.map((clause) => ({
          ...clause,
          verdict: 'not-comparable',
          reason: `${clause.reason} But nothing was counted that shows that these messages waited for a disk, so a short time does not show the claim.`,
        }));
  });
}

const delivered = (point: Point): Sample =>
  ratioOf(figureSample(point, 'dequeuePerSec'), figureSample(point, 'offeredPerSec'));

const meanInWords = (points: number) => (points === 1 ? 'One point' : `The mean of ${points} points`);

/** "1,000/s and 10,000/s" */
const ratesInWords = (points: readonly Point[]) =>
  [...new Set(points.map((point) => figureOf(point, 'offeredPerSec')))]
    .sort((a, b) => a - b)
    .map(perSec)
    .join(' and ');

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

/**
 * The mean slope over instances at equal dequeuers, and the other way round; slopes that the points do not determine are left
 * out.
 */
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
