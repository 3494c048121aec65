/** Compares points that differ in one parameter only, with an interval from their repeats. */

import { type Interval, ratioInterval } from '@shardlab/model';
import type { QueueParams } from '../programs/queue/queue-params.ts';
import type { QueuePoint } from '../programs/queue/queue-point.ts';
import { fixed, type Judgement, noInterval, rounded, verdictAgainstBar } from './judgement.ts';

/** A figure of a point, and of each of its repeats. */
interface MeasuredValue {
  rate: number;
  repeats: number[];
}

export const rateOf = ({ dequeuePerSec, repeats }: QueuePoint): MeasuredValue => ({
  rate: dequeuePerSec,
  repeats: repeats.map((repeat) => repeat.dequeuePerSec),
});
export const enqueuesOf = ({ enqueuePerSec, repeats }: QueuePoint): MeasuredValue => ({
  rate: enqueuePerSec,
  repeats: repeats.map((repeat) => repeat.enqueuePerSec),
});
export const cpuOf = ({ cpuUsPerMessage, repeats }: QueuePoint): MeasuredValue => ({
  rate: cpuUsPerMessage,
  repeats: repeats.map((repeat) => repeat.cpuUsPerMessage),
});
export const bytesOf = (point: QueuePoint): MeasuredValue => {
  const { rate, repeats } = rateOf(point);
  const { payloadBytes } = point.params;
  return { rate: rate * payloadBytes, repeats: repeats.map((repeatRate) => repeatRate * payloadBytes) };
};

export interface Comparison {
  numerator: QueuePoint;
  denominator: QueuePoint;
  value: number;
  interval: Interval | null;
}

export function comparison(
  over: QueuePoint,
  under: QueuePoint,
  figureOf: (point: QueuePoint) => MeasuredValue,
): Comparison {
  const [above, below] = [figureOf(over), figureOf(under)];
  const value = above.rate / below.rate;
  return {
    numerator: over,
    denominator: under,
    value,
    interval: ratioInterval(above.repeats, below.repeats),
  };
}

export function judged(
  { value, interval, numerator, denominator }: Comparison,
  { bar, wanted, unit }: { bar: number; wanted: 'over' | 'under'; unit: string },
  sentences: readonly string[],
): Judgement {
  const repeats = Math.min(numerator.repeats.length, denominator.repeats.length);
  return {
    verdict: verdictAgainstBar({ value, interval, bar, wanted }),
    value: fixed(value),
    unit,
    interval: rounded(interval),
    reason: `${sentences.join(' ')}${noInterval(repeats)}`,
  };
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

const byValue = (all: readonly Comparison[]) =>
  all.filter(({ value }) => Number.isFinite(value)).sort((a, b) => a.value - b.value);
export const lowest = (all: readonly Comparison[]) => byValue(all)[0] ?? null;
export const highest = (all: readonly Comparison[]) => byValue(all).at(-1) ?? null;
export const middleOf = (all: readonly Comparison[]) => {
  const sorted = byValue(all);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
};
