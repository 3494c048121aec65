/** Summaries of a few repeats of one measurement. */
import { studentT95 } from './student-t.ts';

export type Interval = [low: number, high: number];

/** The middle value, or the mean of the two middle ones; NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** Smallest and largest of at least two repeats; null of fewer, since one repeat shows no spread. */
export function spread(values: readonly number[]): Interval | null {
  return values.length < 2 ? null : [Math.min(...values), Math.max(...values)];
}

/**
 * Interval of the ratio of two rates that were measured in the same repeats, pair by pair: a 95 % interval of the mean
 * log ratio from three repeats on, the range of the ratios with two, null with fewer or where a rate is zero. Logs,
 * because a ratio and its inverse must get the same interval turned over.
 */
export function ratioInterval(
  numerators: readonly number[],
  denominators: readonly number[],
): Interval | null {
  const pairs = Math.min(numerators.length, denominators.length);
  const logs: number[] = [];
  for (let index = 0; index < pairs; index++) {
    const ratio = numerators[index]! / denominators[index]!;
    if (!(ratio > 0) || !Number.isFinite(ratio)) return null;
    logs.push(Math.log(ratio));
  }
  if (logs.length < 2) return null;
  if (logs.length === 2) return [Math.exp(Math.min(...logs)), Math.exp(Math.max(...logs))];
  const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  const variance = logs.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (logs.length - 1);
  const reach = studentT95(logs.length - 1) * Math.sqrt(variance / logs.length);
  return [Math.exp(mean - reach), Math.exp(mean + reach)];
}
