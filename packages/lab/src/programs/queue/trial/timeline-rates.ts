/** The summed rates of all instances between two times of the measured phase. Pure. */
import type { TimelineBin } from '@shardlab/contract';

/** Each bin counts with the part of it that is inside the interval. */
export function rateBetween(
  timeline: readonly TimelineBin[],
  rate: 'enqueuePerSec' | 'dequeuePerSec',
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  if (toMs <= fromMs) return 0;
  const messages = timeline.reduce((sum, bin) => {
    const overlapMs = Math.min(bin.toMs, toMs) - Math.max(bin.fromMs, fromMs);
    return overlapMs <= 0 ? sum : sum + bin[rate] * overlapMs;
  }, 0);
  return Math.round(messages / (toMs - fromMs));
}
