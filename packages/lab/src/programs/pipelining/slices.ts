/** Counts of threads in time slices, cut to the measured window. Pure. */
import type { RateSeries } from '@shardlab/contract';
import { type SliceCounts, sliceMs, type ThreadReport, type ThreadsResult } from './pipelining-job.ts';

/** Slices in one value of a series: in a shorter window a single wake-up of a thread more or less would look like a deviation. */
const slicesOfWindow = 4;
export const seriesMs = sliceMs * slicesOfWindow;

export interface WindowCounts {
  /** Messages by slice. */
  messages: number[];
  /** Time that calls waited, milliseconds, by slice. */
  waitedMs: number[];
}

/** The counts of the slices that lie in the measured window as a whole. */
export function inWindow(
  { counts: { startedAtMs, messages, waitedMs } }: Pick<ThreadReport, 'counts'>,
  { openedAtMs, closedAtMs }: Pick<ThreadsResult, 'openedAtMs' | 'closedAtMs'>,
): WindowCounts {
  const first = Math.max(0, Math.ceil((openedAtMs - startedAtMs) / sliceMs));
  const end = Math.max(first, Math.floor((closedAtMs - startedAtMs) / sliceMs));
  const padded = (values: SliceCounts['messages']) =>
    Array.from({ length: end - first }, (_, index) => values[first + index] ?? 0);
  return { messages: padded(messages), waitedMs: padded(waitedMs) };
}

export const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export const perSecOf = (slices: readonly number[]): number =>
  slices.length === 0 ? 0 : sum(slices) / ((sliceMs * slices.length) / 1_000);

/** Messages a second in windows of `seriesMs`. Slices behind the last whole window are left out. */
export function rateSeries(name: string, slices: readonly number[]): RateSeries {
  const count = Math.floor(slices.length / slicesOfWindow);
  const perSec = Array.from({ length: count }, (_, index) =>
    perSecOf(slices.slice(index * slicesOfWindow, (index + 1) * slicesOfWindow)),
  );
  return { name, sliceMs: seriesMs, perSec };
}

/** Standard deviation of a series as a share of its mean; undefined if there were no messages. */
export function deviationOf({ perSec }: RateSeries): number | undefined {
  const mean = sum(perSec) / perSec.length;
  if (!(mean > 0)) return undefined;
  return Math.sqrt(sum(perSec.map((each) => (each - mean) ** 2)) / perSec.length) / mean;
}
