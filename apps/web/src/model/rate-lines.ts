/** The rates of a point's participants over time: lines, and for each how far it strays from its mean. */
import type { RateSeries } from '@shardlab/contract';
import type { DataTable } from './data-table.ts';
import { formatRate } from './format.ts';

export interface RateLine {
  name: string;
  /** Times are milliseconds from the beginning of the measured window: the middle of each slice. */
  points: { atMs: number; perSec: number }[];
  mean: number;
  /** Standard deviation over the slices, messages per second. */
  deviation: number;
}

export function rateLines(series: readonly RateSeries[]): RateLine[] {
  return series
    .filter(({ perSec }) => perSec.length > 0)
    .map(({ name, sliceMs, perSec }) => {
      const mean = meanOf(perSec);
      return {
        name,
        points: perSec.map((rate, index) => ({ atMs: (index + 0.5) * sliceMs, perSec: rate })),
        mean,
        deviation: Math.sqrt(meanOf(perSec.map((rate) => (rate - mean) ** 2))),
      };
    });
}

const meanOf = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** "subscriber 1: 41,000/s ± 12 %; producers: …" */
export const linesInWords = (lines: readonly RateLine[]): string =>
  lines
    .map(({ name, mean, deviation }) =>
      mean > 0
        ? `${name}: ${formatRate(mean)} ± ${Math.round((deviation / mean) * 100)} %`
        : `${name}: nothing`,
    )
    .join('; ');

/** The rates of all lines in the slice at a time. */
export function ratesAt(lines: readonly RateLine[], atMs: number): string {
  const at = lines.map(({ name, points }) => ({
    name,
    point: points.reduce((best, point) =>
      Math.abs(point.atMs - atMs) < Math.abs(best.atMs - atMs) ? point : best,
    ),
  }));
  const seconds = ((at[0]?.point.atMs ?? 0) / 1_000).toFixed(1);
  return `${seconds} s: ${at.map(({ name, point }) => `${name} ${formatRate(point.perSec)}`).join(', ')}`;
}

export const ratesTable = (lines: readonly RateLine[]): DataTable => ({
  columns: ['Seconds', ...lines.map(({ name }) => `${name}, messages per second`)],
  rows: (lines[0]?.points ?? []).map(({ atMs }, index) => [
    atMs / 1_000,
    ...lines.map(({ points }) => points[index]?.perSec ?? null),
  ]),
});
