/**
 * Wait events: every place where a session can wait has a name, and each wait is counted and timed in a histogram.
 * Names follow the field's where one exists; `docs/glossary.md` says what each measures here.
 */
export type WaitClass = 'commit' | 'concurrency' | 'configuration' | 'network' | 'idle';

export const waitEvents = {
  'log file sync': { class: 'commit', emulated: false },
  'writer reservation': { class: 'concurrency', emulated: false },
  'write lock': { class: 'concurrency', emulated: false },
  claim: { class: 'concurrency', emulated: false },
  'partition maintenance': { class: 'configuration', emulated: false },
  'backlog read': { class: 'configuration', emulated: false },
  forwarding: { class: 'network', emulated: false },
  'payload write': { class: 'configuration', emulated: false },
  'payload read': { class: 'configuration', emulated: false },
  'flow control': { class: 'configuration', emulated: false },
  'client round trip': { class: 'network', emulated: true },
  'waiting for messages': { class: 'idle', emulated: false },
} as const satisfies Record<string, { class: WaitClass; emulated: boolean }>;

export type WaitEvent = keyof typeof waitEvents;

export interface WaitStats {
  event: WaitEvent;
  class: WaitClass;
  emulated: boolean;
  waits: number;
  totalMs: number;
  /** Counts by duration: bucket `i` counts waits from the bound of bucket `i - 1` up to `waitBucketMsMax(i)`. */
  buckets: number[];
}

export const waitBucketsPerDoubling = 4;
export const waitBucketCount = 28 * waitBucketsPerDoubling; // up to four minutes
export const waitMsMin = 0.001;

/** Upper bound of a bucket in milliseconds: from 1 µs in steps of 2^(1/4), so a percentile is within 19 %. */
export function waitBucketMsMax(index: number): number {
  return waitMsMin * 2 ** (index / waitBucketsPerDoubling);
}

/** The duration that the share `quantile` (0 to 1) of the waits did not exceed, from bucket counts; 0 without waits. */
export function waitQuantileMs(buckets: readonly number[], quantile: number): number {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [index, count] of buckets.entries()) {
    seen += count;
    if (count > 0 && seen >= total * quantile) return waitBucketMsMax(index);
  }
  return 0;
}

/** The wait events of one instance. Callers may record their own waits too, such as one for flow control. */
export interface WaitLog {
  record(event: WaitEvent, ms: number): void;
  /** Totals since the instance opened; take the difference of two snapshots for an interval. */
  snapshot(): WaitStats[];
}
