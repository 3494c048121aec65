/** Compares points that differ in one parameter only, repeat by repeat. */
import type { ClaimClause } from '@shardlab/contract';
import { percent } from '../programs/figures-in-words.ts';
import type { QueueParams } from '../programs/queue/points/queue-params.ts';
import type { QueuePoint } from '../programs/queue/points/queue-point.ts';
import { clauseOf, clauseWithout } from './clause.ts';
import { provenanceOf } from './queue-points.ts';
import { type Quantity, shareInQueue } from './queue-samples.ts';
import { ratioOf, type Sample } from './sample.ts';

export interface Comparison {
  numerator: QueuePoint;
  denominator: QueuePoint;
  ratio: Sample;
}

export const comparison = (numerator: QueuePoint, denominator: QueuePoint, of: Quantity): Comparison => ({
  numerator,
  denominator,
  ratio: ratioOf(of(numerator), of(denominator)),
});

/** Which side of the bar the ratio must be on: one of `over` and `under`. */
export interface Judged extends Pick<ClaimClause, 'unit' | 'statement'> {
  over?: number;
  under?: number;
}

export function judged(
  { ratio, numerator, denominator }: Comparison,
  claimed: Judged,
  sentences: string,
): ClaimClause[] {
  const provenance = provenanceOf([numerator, denominator]);
  return [clauseOf({ ...claimed, sample: ratio, provenance, numbers: sentences })];
}

/** Sessions that spend more than half of their time outside the queue do not load it. */
export const inQueueMin = 0.5;

/** Like `judged`, but the claim holds only if clients load the queue that is the denominator: without load nothing slows a queue. */
export function judgedUnderLoad(compared: Comparison, claimed: Judged, sentences: string): ClaimClause[] {
  const [clause] = judged(compared, claimed, sentences) as [ClaimClause];
  const inQueue = shareInQueue(compared.denominator).value;
  if (inQueue >= inQueueMin || clause.verdict !== 'holds') return [clause];
  const reason = `${clause.reason} But sessions spend only ${percent(inQueue)} of their time in the queue, so that its clients set the pace.`;
  return [clauseWithout('not-comparable', { ...clause, reason })];
}

type Axis = 'backlog' | 'payloadBytes' | 'subscribers' | 'cacheMiB';

/** Groups of points that differ only in `axis`, sorted by it; groups of one point are left out. */
export function groupByOtherParams(points: readonly QueuePoint[], axis: Axis): Map<string, QueuePoint[]> {
  const varied = points.filter((point) => point.params[axis] !== undefined && point.dequeuePerSec > 0);
  const lines = Map.groupBy(varied, ({ params }) => JSON.stringify({ ...params, [axis]: undefined }));
  for (const [key, line] of lines) {
    if (line.length < 2) lines.delete(key);
    line.sort((a, b) => a.params[axis]! - b.params[axis]!);
  }
  return lines;
}

/** The first and last point of each such group. */
export const pairsAlong = (
  points: readonly QueuePoint[],
  axis: Axis,
): [low: QueuePoint, high: QueuePoint][] =>
  [...groupByOtherParams(points, axis).values()].map((line) => [line[0]!, line.at(-1)!]);

export function sameParamsExcept(name: keyof QueueParams, a: QueuePoint, b: QueuePoint): boolean {
  const rest = ({ params }: QueuePoint) => JSON.stringify({ ...params, [name]: undefined });
  return rest(a) === rest(b);
}

const byRatio = (all: readonly Comparison[]) =>
  all.filter(({ ratio }) => Number.isFinite(ratio.value)).sort((a, b) => a.ratio.value - b.ratio.value);
export const lowest = (all: readonly Comparison[]) => byRatio(all)[0] ?? null;
export const highest = (all: readonly Comparison[]) => byRatio(all).at(-1) ?? null;
export const middleOf = (all: readonly Comparison[]) => {
  const sorted = byRatio(all);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
};
