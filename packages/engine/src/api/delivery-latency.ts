/** The durations by which `QueueStats.deliveryLatency` counts: from 1 ms, the resolution of enqueue times, to twelve days. */
import { quantileBucket } from './waits.ts';

const bucketsPerDoubling = 4;
export const latencyBucketCount = 30 * bucketsPerDoubling + 1;

/** Bucket 0 has everything up to 1 ms, the last one everything that is longer than the others. */
export function latencyBucketOf(ms: number): number {
  if (ms <= 1) return 0;
  return Math.min(Math.ceil(Math.log2(ms) * bucketsPerDoubling), latencyBucketCount - 1);
}

/** The latency that the share `quantile` (0 to 1) did not exceed, from counts by bucket, within 19 %; null without any. */
export function latencyQuantileMs(counts: readonly number[], quantile: number): number | null {
  const bucket = quantileBucket(counts, quantile);
  return bucket === undefined ? null : 2 ** (bucket / bucketsPerDoubling);
}
