/** The lines of the scaling chart: points of a run grouped by queue, instances, round trip and whatever is not on the axis. */
import { type Implementation, type Point, pointKey, type Scenario } from '@shardlab/contract';
import { plural } from './format.ts';
import type { Metric } from './metrics.ts';
import { besideAxis, sweepAxis } from './sweep-axis.ts';

export interface ScalingPoint {
  key: string;
  /** On the axis: threads, or what else the sweep varies most. */
  x: number;
  /** In the metric's unit; always over 0, since the axis is logarithmic. */
  value: number;
}

/** One of a run. */
export interface RunPoint extends ScalingPoint {
  point: Point;
}

export interface ScalingSeries<P extends ScalingPoint = ScalingPoint> {
  id: string;
  implementation: Implementation;
  instances: number;
  /** Emulated round trip of a call, milliseconds; 0 as it is. */
  roundTripMs: number;
  /** What tells it from others of the same queue, instances and round trip: "10 subscribers". */
  beside: string[];
  /** Rising in x. */
  points: P[];
  /** Default a line with its points. `simulated`: a dotted line; `measured`: points alone, on top of such lines. */
  drawnAs?: 'simulated' | 'measured';
}

/** Which round trips are shown: all of them, or one. */
export type RoundTripChoice = 'all' | number;

/**
 * Series in the order of the legend: implementation, then round trip, then instances. Points without a value to show
 * (nothing delivered) are left out; a series without points is not listed.
 */
export function scalingSeries(
  points: readonly Point[],
  options: { metric: Metric; roundTrip: RoundTripChoice; sweep: Scenario['sweep'] },
): ScalingSeries<RunPoint>[] {
  const { metric, roundTrip, sweep } = options;
  const axis = sweepAxis(sweep);
  const byId = new Map<string, ScalingSeries<RunPoint>>();
  for (const point of points) {
    const { implementation } = point;
    const { instances, roundTripMs } = point.params;
    const value = metric.read(point);
    const x = point.params[axis.id] ?? 0;
    if ((roundTrip !== 'all' && roundTrip !== roundTripMs) || !(value > 0) || !(x > 0)) continue;
    const beside = besideAxis(point.params, sweep, axis);
    const id = [implementation, instances, roundTripMs, ...beside].join('/');
    const series = byId.get(id) ?? { id, implementation, instances, roundTripMs, beside, points: [] };
    byId.set(id, series);
    series.points.push({ key: pointKey(point), x, value, point });
  }
  for (const series of byId.values()) series.points.sort((a, b) => a.x - b.x);
  return [...byId.values()].sort(
    (a, b) =>
      a.implementation.localeCompare(b.implementation) ||
      a.roundTripMs - b.roundTripMs ||
      a.instances - b.instances,
  );
}

/** The round trips that occur, rising. */
export const roundTripsOf = (points: readonly Point[]): number[] =>
  [...new Set(points.map((point) => point.params.roundTripMs))].sort((a, b) => a - b);

/** "sharded, 2 instances, 1 ms round trip" */
export function seriesInWords(
  series: Pick<ScalingSeries, 'implementation' | 'instances' | 'roundTripMs' | 'beside'>,
) {
  const trip = series.roundTripMs > 0 ? `, ${series.roundTripMs} ms round trip` : '';
  const beside = series.beside.map((words) => `, ${words}`).join('');
  return `${series.implementation}, ${plural(series.instances, 'instance')}${trip}${beside}`;
}

export const cursorKeys: readonly string[] = [
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'ArrowDown',
  'Home',
  'End',
] satisfies CursorKey[];
export type CursorKey = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown' | 'Home' | 'End';

/**
 * Where a key moves the cursor: left and right along the series, up and down to the next greater or smaller value of
 * another series at the same place of the axis. Stays where it is at an edge; starts at the first point.
 */
export function moveCursor(
  series: readonly ScalingSeries[],
  current: string | null,
  key: CursorKey,
): string | null {
  const at = findPoint(series, current);
  if (at === null) return series[0]?.points[0]?.key ?? null;
  const { points } = at.series;
  if (key === 'Home') return points[0]!.key;
  if (key === 'End') return points.at(-1)!.key;
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const index = points.indexOf(at.point) + (key === 'ArrowRight' ? 1 : -1);
    return (points[index] ?? at.point).key;
  }
  const column = series
    .flatMap((entry) => entry.points)
    .filter((point) => point.x === at.point.x)
    .sort((a, b) => a.value - b.value);
  const index = column.indexOf(at.point) + (key === 'ArrowUp' ? 1 : -1);
  return (column[index] ?? at.point).key;
}

/** The point of a key and the series that it lies in. */
export function findPoint<P extends ScalingPoint>(
  series: readonly ScalingSeries<P>[],
  key: string | null,
): { series: ScalingSeries<P>; point: P } | null {
  if (key === null) return null;
  for (const entry of series) {
    const point = entry.points.find((candidate) => candidate.key === key);
    if (point !== undefined) return { series: entry, point };
  }
  return null;
}
