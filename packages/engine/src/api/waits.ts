/**
 * Wait events: every place where a session can wait has a name, and each wait is counted and timed in a histogram.
 * Names follow the field's where one exists; `docs/glossary.md` says what each measures here.
 */
export type WaitClass = 'commit' | 'concurrency' | 'configuration' | 'network' | 'idle';

const eventDefinitions = {
  'log file sync': { class: 'commit', emulated: false },
  'writer reservation': { class: 'concurrency', emulated: false },
  'write lock': { class: 'concurrency', emulated: false },
  'partition maintenance': { class: 'configuration', emulated: false },
  'backlog read': { class: 'configuration', emulated: false },
  forwarding: { class: 'network', emulated: false },
  'payload write': { class: 'configuration', emulated: false },
  'payload read': { class: 'configuration', emulated: false },
  'flow control': { class: 'configuration', emulated: false },
  'client round trip': { class: 'network', emulated: true },
  'waiting for messages': { class: 'idle', emulated: false },
} as const satisfies Record<string, { class: WaitClass; emulated: boolean }>;

export type WaitEvent = keyof typeof eventDefinitions;

export interface WaitStats {
  event: WaitEvent;
  class: WaitClass;
  emulated: boolean;
  waits: number;
  totalMs: number;
  /** Counts by duration: bucket `i` counts waits from the bound of bucket `i - 1` up to `waitBucketMsMax(i)`. */
  buckets: number[];
}

const bucketsPerDoubling = 4;
const bucketCount = 28 * bucketsPerDoubling; // up to four minutes
const smallestMs = 0.001;

/** Upper bound of a bucket in milliseconds: from 1 µs in steps of 2^(1/4), so a percentile is within 19 %. */
export function waitBucketMsMax(index: number): number {
  return smallestMs * 2 ** (index / bucketsPerDoubling);
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

/** Collects waits of one instance. Recording is cheap enough for every commit (under 0.1 µs). */
export class WaitRecorder {
  readonly #byEvent = new Map<WaitEvent, { waits: number; totalMs: number; buckets: number[] }>();

  readonly #emulated: readonly WaitEvent[];

  /** `emulated`: events that this instance emulates, beyond those that are always emulated. */
  constructor(emulated: readonly WaitEvent[] = []) {
    this.#emulated = emulated;
    for (const event of Object.keys(eventDefinitions) as WaitEvent[]) {
      this.#byEvent.set(event, { waits: 0, totalMs: 0, buckets: new Array<number>(bucketCount).fill(0) });
    }
  }

  record(event: WaitEvent, ms: number): void {
    const entry = this.#byEvent.get(event)!;
    entry.waits += 1;
    entry.totalMs += ms;
    const bucket = Math.ceil(Math.log2(Math.max(ms, smallestMs) / smallestMs) * bucketsPerDoubling);
    const index = Math.min(bucket, bucketCount - 1);
    entry.buckets[index] = entry.buckets[index]! + 1;
  }

  /** Totals since the instance opened; take the difference of two snapshots for an interval. */
  snapshot(): WaitStats[] {
    return [...this.#byEvent].map(([event, entry]) => ({
      event,
      class: eventDefinitions[event].class,
      emulated: eventDefinitions[event].emulated || this.#emulated.includes(event),
      waits: entry.waits,
      totalMs: entry.totalMs,
      buckets: [...entry.buckets],
    }));
  }
}
