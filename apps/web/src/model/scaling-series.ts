/** The lines of the scaling chart: points grouped by all parameters except the one on the horizontal axis. */
import { numberParam, type Point, type ProgramInfo, pointKey, type Scenario } from '@shardlab/contract';
import { plural } from './format.ts';
import type { Metric } from './point-metrics.ts';
import { repeatSpan } from './repeat-span.ts';
import { otherVariedParams, type SweepAxis } from './sweep-axis.ts';

export interface ScalingPoint {
  key: string;
  /** The parameter on the horizontal axis: threads, or the one that the sweep varies most. */
  x: number;
  /** Value in the unit of the metric; always positive, because the axis is logarithmic. */
  value: number;
  /** Range of the repeats, see `repeatRange`; left out with one repeat. */
  range?: readonly [low: number, high: number];
}

/** A measured point of a run. */
export interface RunPoint extends ScalingPoint {
  point: Point;
}

export interface ScalingSeries<P extends ScalingPoint = ScalingPoint> {
  id: string;
  system: string;
  instances: number;
  /** Emulated round trip of a client call in milliseconds; 0 for none. */
  roundTripMs: number;
  /** Further parameters that distinguish it from other series: "10 subscribers". */
  otherParams: string[];
  /** Points in order of `x`. */
  points: P[];
  /** Name that distinguishes it from the other lines: "sharded, 32 threads". Left out if lines have no labels. */
  name?: string;
  /** Instead of the colour of the system. */
  color?: string;
  /** Instead of that of the round trip; null for a solid line. */
  dash?: string | null;
  /**
   * Left out: a line with its points. `simulated`: a dotted line without points; `ghost`: a pale one of what was shown before,
   * out of reach of the cursor; `measured`: points without a line.
   */
  drawnAs?: 'simulated' | 'ghost' | 'measured';
}

/** Lines that differ in it need a style each; instances and round trip have marks and panels of their own. */
export type LineKind = Pick<ScalingSeries, 'system' | 'otherParams'>;

/** The emulated round trip to show, milliseconds, or all of them. */
export type RoundTripChoice = 'all' | number;

/**
 * Series ordered by system, round trip and instances, like the legend. Points without a positive value, such as
 * those that delivered nothing, are left out.
 */
export function scalingSeries(
  points: readonly Point[],
  options: {
    metric: Metric;
    roundTrip: RoundTripChoice;
    axis: SweepAxis;
    sweep: Scenario['sweep'];
    program: ProgramInfo;
  },
): ScalingSeries<RunPoint>[] {
  const { metric, roundTrip, axis, sweep, program } = options;
  const byId = new Map<string, ScalingSeries<RunPoint>>();
  for (const point of points) {
    const { system } = point;
    const instances = numberParam(point.params, 'instances');
    const roundTripMs = numberParam(point.params, 'roundTripMs');
    const value = metric.read(point);
    const x = numberParam(point.params, axis.id);
    if ((roundTrip !== 'all' && roundTrip !== roundTripMs) || !(value > 0) || !(x > 0)) continue;
    const otherParams = otherVariedParams(point.params, { sweep, axis, program });
    const id = [system, instances, roundTripMs, ...otherParams].join('/');
    const series = byId.get(id) ?? { id, system, instances, roundTripMs, otherParams, points: [] };
    byId.set(id, series);
    const range = repeatRange(point.figures[metric.id]?.repeats ?? []);
    series.points.push({ key: pointKey(point), x, value, point, ...(range === null ? {} : { range }) });
  }
  for (const series of byId.values()) series.points.sort((a, b) => a.x - b.x);
  return [...byId.values()].sort(
    (a, b) => a.system.localeCompare(b.system) || a.roundTripMs - b.roundTripMs || a.instances - b.instances,
  );
}

/** See `repeatSpan`. Null also where it reaches zero, which a logarithmic axis has not. */
export function repeatRange(repeats: readonly number[]): [low: number, high: number] | null {
  const span = repeatSpan(repeats);
  return span !== null && span[0] > 0 ? span : null;
}

/** "sharded, 2 instances, 1 ms round trip" */
export function describeSeries(
  series: Pick<ScalingSeries, 'system' | 'instances' | 'roundTripMs' | 'otherParams'>,
) {
  const trip = series.roundTripMs > 0 ? `, ${series.roundTripMs} ms round trip` : '';
  const otherParams = series.otherParams.map((text) => `, ${text}`).join('');
  const instances = series.instances > 0 ? `, ${plural(series.instances, 'instance')}` : '';
  return `${series.system}${instances}${trip}${otherParams}`;
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
 * The point to which a key moves the cursor: left and right along the series, up and down to the next value among all
 * points at the same `x`. At an edge the cursor stays; without a current point it starts at the first one.
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

/** The point with the given key, and its series. */
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
