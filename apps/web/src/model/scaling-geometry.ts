/**
 * Geometry of the log-log scaling chart. Data space is the parameter on the horizontal axis (threads, payload bytes, …)
 * and the value of the metric, both greater than 0. Chart space is CSS pixels from the upper left corner of the
 * drawing. The scales `x` and `y` are the only conversion between the two.
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
 * Scales that hold all points and reference lines. The vertical scale ends at 1-2-5 steps. `xs` are the planned values
 * of the sweep, so the horizontal axis does not change while points arrive.
 */
export function scalingGeometry(
  series: readonly ScalingSeries[],
  options: {
    frame: ScalingFrame;
    xs: readonly number[];
    references: readonly number[];
    /** Domain of the vertical axis; default: computed from the values. */
    domain?: readonly [low: number, high: number] | undefined;
  },
): ScalingGeometry {
  const { frame, references } = options;
  const { margin, width, height } = frame;
  const xTicks = [
    ...new Set([...options.xs, ...series.flatMap((entry) => entry.points.map((point) => point.x))]),
  ].sort((a, b) => a - b);
  const values = [...series.flatMap((entry) => entry.points.map((point) => point.value)), ...references];
  const [low = 100, high = 10_000] = extent(values) as [number | undefined, number | undefined];
  const domain = options.domain ?? ([stepDown(low / 1.15), stepUp(high * 1.15)] as const);
  const left = margin.left;
  const right = Math.max(left + 1, width - margin.right);
  const top = margin.top;
  const bottom = Math.max(top + 1, height - margin.bottom);
  const first = xTicks[0] ?? 1;
  const last = xTicks.at(-1) ?? 1;
  /** Padding at both ends of the logarithmic axis. */
  const paddingFactor = 1.18;
  const x = scaleLog([first / paddingFactor, Math.max(last, first) * paddingFactor], [left, right]);
  const y = scaleLog(domain, [bottom, top]);
  return { x, y, left, right, top, bottom, xTicks, yTicks: decadeTicks(domain) };
}

/**
 * A vertical axis of whole powers of ten that holds `usual` and all values: it hardly ever changes while points arrive.
 * Values must be positive.
 */
export function decadeDomain(
  values: readonly number[],
  usual: readonly number[] = [],
): [low: number, high: number] {
  const [low = 100, high = 10_000] = extent([...values, ...usual]) as [
    number | undefined,
    number | undefined,
  ];
  const from = 10 ** Math.floor(Math.log10(low) + 1e-9);
  const to = 10 ** Math.ceil(Math.log10(high) - 1e-9);
  return [from, Math.max(to, from * 10)];
}

const steps = [1, 2, 5] as const;

/** The greatest 1-2-5 step that is ≤ `value`, which must be positive. */
export function stepDown(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  const step = steps.findLast((candidate) => candidate * decade <= value * (1 + 1e-9)) ?? 1;
  return step * decade;
}

/** The smallest 1-2-5 step that is ≥ `value`, which must be positive. */
export function stepUp(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  const step = steps.find((candidate) => candidate * decade >= value * (1 - 1e-9)) ?? 10;
  return step * decade;
}

/** Powers of ten that a number can be. */
const powers = { least: -323, greatest: 308 } as const;

/**
 * Ticks of a logarithmic axis: 1-2-5 steps over up to three decades, powers of ten over more; none for bounds that are not positive.
 */
export function decadeTicks([low, high]: readonly [number, number]): number[] {
  if (!(low > 0 && high >= low)) return [];
  const decades = Math.log10(high / low);
  const mantissas: readonly number[] = decades > 3 ? [1] : steps;
  const ticks: number[] = [];
  const last = Math.min(powers.greatest, Math.ceil(Math.log10(high)));
  for (let power = Math.max(powers.least, Math.floor(Math.log10(low))); power <= last; power++)
    for (const step of mantissas) {
      const value = Number((step * 10 ** power).toPrecision(3));
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push(value);
    }
  return ticks;
}

/**
 * A line of slope one in log-log space through the given point, clipped to the plot: the values that would be
 * proportional to the threads. Coordinates are in chart space; null if the line misses the plot.
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

/** For each of the positions, in CSS pixels, whether a later one is so near that its mark covers the earlier one's. */
export function coveredByLater(positions: readonly { x: number; y: number }[], withinPx: number): boolean[] {
  return positions.map((position, index) =>
    positions.slice(index + 1).some(({ x, y }) => Math.hypot(x - position.x, y - position.y) < withinPx),
  );
}

/** The point nearest to a position in chart space, at most `withinPx` away; none of a ghost. */
export function nearestPoint(
  series: readonly ScalingSeries[],
  geometry: ScalingGeometry,
  position: { x: number; y: number; withinPx: number },
): ScalingPoint | null {
  let nearest: ScalingPoint | null = null;
  let best = position.withinPx;
  for (const entry of series.filter(({ drawnAs }) => drawnAs !== 'ghost'))
    for (const point of entry.points) {
      const distance = Math.hypot(geometry.x(point.x) - position.x, geometry.y(point.value) - position.y);
      if (distance <= best) {
        best = distance;
        nearest = point;
      }
    }
  return nearest;
}
