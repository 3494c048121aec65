/** The lines of the scaling chart: points of a run grouped by queue, instances and round trip. */
import { type Implementation, type Point, pointKey } from '@shardlab/contract';
import { plural } from './format.ts';
import type { Metric } from './metrics.ts';

export interface ScalingPoint {
  key: string;
  threads: number;
  /** In the metric's unit; always over 0, since the axis is logarithmic. */
  value: number;
  point: Point;
}

export interface ScalingSeries {
  id: string;
  implementation: Implementation;
  instances: number;
  /** Emulated round trip of a call, milliseconds; 0 as it is. */
  roundTripMs: number;
  /** Rising in threads. */
  points: ScalingPoint[];
}

/** Which round trips are shown: all of them, or one. */
export type RoundTripChoice = 'all' | number;

/**
 * Series in the order of the legend: implementation, then round trip, then instances. Points without a value to show
 * (nothing delivered) are left out; a series without points is not listed.
 */
export function scalingSeries(
  points: readonly Point[],
  options: { metric: Metric; roundTrip: RoundTripChoice },
): ScalingSeries[] {
  const { metric, roundTrip } = options;
  const byId = new Map<string, ScalingSeries>();
  for (const point of points) {
    const { implementation } = point;
    const { instances, roundTripMs, threads } = point.params;
    const value = metric.read(point);
    if ((roundTrip !== 'all' && roundTrip !== roundTripMs) || !(value > 0)) continue;
    const id = `${implementation}/${instances}/${roundTripMs}`;
    const series = byId.get(id) ?? { id, implementation, instances, roundTripMs, points: [] };
    byId.set(id, series);
    series.points.push({ key: pointKey(point), threads, value, point });
  }
  for (const series of byId.values()) series.points.sort((a, b) => a.threads - b.threads);
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
export function seriesInWords(series: Pick<ScalingSeries, 'implementation' | 'instances' | 'roundTripMs'>) {
  const trip = series.roundTripMs > 0 ? `, ${series.roundTripMs} ms round trip` : '';
  return `${series.implementation}, ${plural(series.instances, 'instance')}${trip}`;
}

export type CursorKey = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown' | 'Home' | 'End';

/**
 * Where a key moves the cursor: left and right along the series, up and down to the next greater or smaller value of
 * another series at the same number of threads. Stays where it is at an edge; starts at the first point.
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
    .filter((point) => point.threads === at.point.threads)
    .sort((a, b) => a.value - b.value);
  const index = column.indexOf(at.point) + (key === 'ArrowUp' ? 1 : -1);
  return (column[index] ?? at.point).key;
}

/** The point of a key and the series that it lies in. */
export function findPoint(
  series: readonly ScalingSeries[],
  key: string | null,
): { series: ScalingSeries; point: ScalingPoint } | null {
  if (key === null) return null;
  for (const entry of series) {
    const point = entry.points.find((candidate) => candidate.key === key);
    if (point !== undefined) return { series: entry, point };
  }
  return null;
}
