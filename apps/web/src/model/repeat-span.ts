import { meanInterval } from '@shardlab/model';

/** The 95 % interval of the mean of at least five repeats; from the lowest to the highest of two to four; null with one. */
export function repeatSpan(repeats: readonly number[]): [low: number, high: number] | null {
  if (repeats.length < 2) return null;
  const interval = meanInterval(repeats);
  return interval === null ? [Math.min(...repeats), Math.max(...repeats)] : [interval[0], interval[1]];
}
