/** Points compared that differ in one thing only, with the interval of their repeats. */
import type { Point, PointParams } from '@shardlab/contract';
import { type Interval, ratioInterval } from '@shardlab/model';
import { fixed, type Judgement, noInterval, rounded, sideOf } from './judgement.ts';

/** A figure of a point, and the same of each repeat. */
interface Figure {
  rate: number;
  repeats: number[];
}

export const rateOf = ({ dequeuePerSec, repeats }: Point): Figure => ({
  rate: dequeuePerSec,
  repeats: repeats.map((repeat) => repeat.dequeuePerSec),
});
export const enqueuesOf = ({ enqueuePerSec, repeats }: Point): Figure => ({
  rate: enqueuePerSec,
  repeats: repeats.map((repeat) => repeat.enqueuePerSec),
});
export const cpuOf = ({ cpuUsPerMessage, repeats }: Point): Figure => ({
  rate: cpuUsPerMessage,
  repeats: repeats.map((repeat) => repeat.cpuUsPerMessage),
});
export const bytesOf = (point: Point): Figure => {
  const { rate, repeats } = rateOf(point);
  const { payloadBytes } = point.params;
  return { rate: rate * payloadBytes, repeats: repeats.map((each) => each * payloadBytes) };
};

export interface Comparison {
  over: Point;
  under: Point;
  value: number;
  interval: Interval | null;
}

export function comparison(over: Point, under: Point, figureOf: (point: Point) => Figure): Comparison {
  const [above, below] = [figureOf(over), figureOf(under)];
  const value = above.rate / below.rate;
  return { over, under, value, interval: ratioInterval(above.repeats, below.repeats) };
}

export function judged(
  { value, interval, over, under }: Comparison,
  { bar, wanted, unit }: { bar: number; wanted: 'over' | 'under'; unit: string },
  sentences: readonly string[],
): Judgement {
  const repeats = Math.min(over.repeats.length, under.repeats.length);
  return {
    verdict: sideOf({ value, interval, bar, wanted }),
    value: fixed(value),
    unit,
    interval: rounded(interval),
    reason: `${sentences.join(' ')}${noInterval(repeats)}`,
  };
}

type Axis = 'backlog' | 'payloadBytes' | 'subscribers' | 'cacheMiB';

/** Points that differ in one thing only, in its order; lines of one point are left out. */
export function alike(points: readonly Point[], axis: Axis): Map<string, Point[]> {
  const varied = points.filter((point) => point.params[axis] !== undefined && point.dequeuePerSec > 0);
  const lines = Map.groupBy(varied, ({ params }) => JSON.stringify({ ...params, [axis]: undefined }));
  for (const [key, line] of lines) {
    if (line.length < 2) lines.delete(key);
    line.sort((a, b) => a.params[axis]! - b.params[axis]!);
  }
  return lines;
}

/** The two ends of each such line. */
export const pairsAlong = (points: readonly Point[], axis: Axis): [low: Point, high: Point][] =>
  [...alike(points, axis).values()].map((line) => [line[0]!, line.at(-1)!]);

export function sameBut(name: keyof PointParams, a: Point, b: Point): boolean {
  const rest = ({ params }: Point) => JSON.stringify({ ...params, [name]: undefined });
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
