/**
 * Geometry of the log-log scaling chart. Data space: threads (or what else the axis is) and a value of the metric, both over 0. Chart space: CSS
 * pixels from the drawing's upper left corner. `x` and `y` are the only way from one to the other.
 */
import { extent } from 'd3-array';
import { type ScaleLogarithmic, scaleLog } from 'd3-scale';
import type { ScalingPoint, ScalingSeries } from './scaling-series.ts';

export interface ScalingFrame {
  width: number;
  height: number;
  margin: { top: number; right: number; bottom: number; left: number };
}

export interface ScalingGeometry {
  x: ScaleLogarithmic<number, number>;
  y: ScaleLogarithmic<number, number>;
  /** Edges of the plot in chart space. */
  left: number;
  right: number;
  top: number;
  bottom: number;
  xTicks: number[];
  yTicks: number[];
}

/**
 * Scales over the values and the reference lines, the vertical one to whole 1-2-5 steps. `xs` are those of the
 * scenario, so that the axis stands still while points arrive.
 */
export function scalingGeometry(
  series: readonly ScalingSeries[],
  options: { frame: ScalingFrame; xs: readonly number[]; references: readonly number[] },
): ScalingGeometry {
  const { frame, references } = options;
  const { margin, width, height } = frame;
  const xTicks = [
    ...new Set([...options.xs, ...series.flatMap((entry) => entry.points.map((point) => point.x))]),
  ].sort((a, b) => a - b);
  const values = [...series.flatMap((entry) => entry.points.map((point) => point.value)), ...references];
  const [low = 100, high = 10_000] = extent(values) as [number | undefined, number | undefined];
  const domain = [stepDown(low / 1.15), stepUp(high * 1.15)] as const;
  const left = margin.left;
  const right = Math.max(left + 1, width - margin.right);
  const top = margin.top;
  const bottom = Math.max(top + 1, height - margin.bottom);
  const first = xTicks[0] ?? 1;
  const last = xTicks.at(-1) ?? 1;
  const room = 1.18;
  const x = scaleLog([first / room, Math.max(last, first) * room], [left, right]);
  const y = scaleLog(domain, [bottom, top]);
  return { x, y, left, right, top, bottom, xTicks, yTicks: decadeTicks(domain) };
}

const steps = [1, 2, 5] as const;

/** The greatest 1-2-5 step not over a value over 0. */
export function stepDown(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  const step = steps.findLast((candidate) => candidate * decade <= value * (1 + 1e-9)) ?? 1;
  return step * decade;
}

/** The smallest 1-2-5 step not under a value over 0. */
export function stepUp(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  const step = steps.find((candidate) => candidate * decade >= value * (1 - 1e-9)) ?? 10;
  return step * decade;
}

/** Labels of a logarithmic axis: 1-2-5 over up to three decades, powers of ten over more. */
export function decadeTicks([low, high]: readonly [number, number]): number[] {
  const decades = Math.log10(high / low);
  const wanted: readonly number[] = decades > 3 ? [1] : steps;
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const step of wanted) {
      const value = Number((step * 10 ** power).toPrecision(3));
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push(value);
    }
  return ticks;
}

/**
 * A line of slope one in log-log space through the middle of the plot's left edge, clipped to the plot: what a value
 * in proportion to the threads would look like. Chart space.
 */
export function linearGuide(geometry: ScalingGeometry, through: { x: number; value: number }) {
  const { x, y } = geometry;
  const perX = through.value / through.x;
  const [xLow, xHigh] = x.domain() as [number, number];
  const [yLow, yHigh] = y.domain() as [number, number];
  const from = Math.max(xLow, yLow / perX);
  const to = Math.min(xHigh, yHigh / perX);
  if (!(to > from)) return null;
  return { x1: x(from), y1: y(from * perX), x2: x(to), y2: y(to * perX) };
}

/** The point nearest to a place in chart space, within `withinPx`. */
export function nearestPoint(
  series: readonly ScalingSeries[],
  geometry: ScalingGeometry,
  place: { x: number; y: number; withinPx: number },
): ScalingPoint | null {
  let nearest: ScalingPoint | null = null;
  let best = place.withinPx;
  for (const entry of series)
    for (const point of entry.points) {
      const distance = Math.hypot(geometry.x(point.x) - place.x, geometry.y(point.value) - place.y);
      if (distance <= best) {
        best = distance;
        nearest = point;
      }
    }
  return nearest;
}
