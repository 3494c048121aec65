/** Summaries of a few repeats of one measurement. The rule of all verdicts: docs/decisions/verdicts.md. */
import { studentT95 } from './student-t.ts';

export type Interval = [low: number, high: number];

/** The middle value, or the mean of the two middle ones; NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** With fewer repeats there is no interval: a verdict is then provisional. */
export const repeatsMin = 5;

/**
 * 95 % Student-t interval of the mean of at least `repeatsMin` repeats; null for fewer. Computed on logarithms if all values are
 * above zero, so that a ratio and its inverse have inverse intervals, and the mean is the geometric one.
 */
export function meanInterval(values: readonly number[]): Interval | null {
  if (values.length < repeatsMin || !values.every(Number.isFinite)) return null;
  if (!values.every((value) => value > 0)) return tInterval(summarise(values));
  return exp(tInterval(summarise(values.map(Math.log))));
}

/**
 * 95 % interval of the ratio of two quantities over zero that were not measured in the same repeats: Welch's t interval of
 * the difference of their logs. Null with fewer than `repeatsMin` repeats of either, or where a value is not over zero.
 */
export function welchRatioInterval(
  numerators: readonly number[],
  denominators: readonly number[],
): Interval | null {
  const all = [...numerators, ...denominators];
  const fewest = Math.min(numerators.length, denominators.length);
  if (fewest < repeatsMin || !all.every((value) => value > 0 && Number.isFinite(value))) return null;
  const [over, under] = [summarise(numerators.map(Math.log)), summarise(denominators.map(Math.log))];
  const squares = over.error ** 2 + under.error ** 2;
  const spreads = over.error ** 4 / over.freedom + under.error ** 4 / under.freedom;
  // Without any spread the number of degrees of freedom does not matter.
  const freedom = spreads === 0 ? over.freedom + under.freedom : squares ** 2 / spreads;
  return exp(tInterval({ mean: over.mean - under.mean, error: Math.sqrt(squares), freedom }));
}

interface Summary {
  mean: number;
  /** Standard error of the mean. */
  error: number;
  freedom: number;
}

function summarise(values: readonly number[]): Summary {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const freedom = values.length - 1;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / freedom;
  return { mean, error: Math.sqrt(variance / values.length), freedom };
}

function tInterval({ mean, error, freedom }: Summary): Interval {
  const reach = studentT95(freedom) * error;
  return [mean - reach, mean + reach];
}

const exp = ([low, high]: Interval): Interval => [Math.exp(low), Math.exp(high)];
