/** A straight line through points on log-log axes: `y = factor · x^slope`, by ordinary least squares. */
import type { Interval } from './intervals.ts';
import { studentT95 } from './student-t.ts';

export interface LogLogFit {
  /** 1 doubles y when x doubles; 0 is flat. */
  slope: number;
  /** 95 % interval of the slope; null with two points, which every line fits. */
  slopeInterval: Interval | null;
  /** y of the line at x = 1. */
  factor: number;
  /** Share of the variance of log y that the line explains, 0 to 1; 1 for a flat line of equal values. */
  r2: number;
  /** The largest of y ÷ line and line ÷ y, minus 1: 0.1 means that no point is more than 10 % off the line. */
  worstDeviation: number;
  points: number;
}

/** Fits pairs with x and y over zero; others are left out. Null if fewer than two different x remain. */
export function fitLogLog(pairs: readonly { x: number; y: number }[]): LogLogFit | null {
  const logs = pairs
    .filter(({ x, y }) => x > 0 && y > 0 && Number.isFinite(x) && Number.isFinite(y))
    .map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const n = logs.length;
  if (n < 2) return null;
  const meanX = logs.reduce((sum, point) => sum + point.x, 0) / n;
  const meanY = logs.reduce((sum, point) => sum + point.y, 0) / n;
  const sxx = logs.reduce((sum, point) => sum + (point.x - meanX) ** 2, 0);
  const syy = logs.reduce((sum, point) => sum + (point.y - meanY) ** 2, 0);
  const sxy = logs.reduce((sum, point) => sum + (point.x - meanX) * (point.y - meanY), 0);
  if (sxx === 0) return null;

  const slope = sxy / sxx;
  const intercept = meanY - slope * meanX;
  const residuals = logs.map((point) => point.y - (intercept + slope * point.x));
  const squares = residuals.reduce((sum, residual) => sum + residual ** 2, 0);
  const reach = n > 2 ? studentT95(n - 2) * Math.sqrt(squares / (n - 2) / sxx) : null;
  return {
    slope,
    slopeInterval: reach === null ? null : [slope - reach, slope + reach],
    factor: Math.exp(intercept),
    // Equal values leave a variance of rounding errors only.
    r2: syy < 1e-20 * n ? 1 : Math.max(0, 1 - squares / syy),
    worstDeviation: Math.exp(Math.max(...residuals.map(Math.abs))) - 1,
    points: n,
  };
}
