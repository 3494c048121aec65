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
  'retry pause': { class: 'idle', emulated: false },
  'server call': { class: 'network', emulated: false },
  'waiting for messages': { class: 'idle', emulated: false },
} as const satisfies Record<string, { class: WaitClass; emulated: boolean }>;

export type WaitEvent = keyof typeof waitEvents;

/** Whether the program waits by its own choice: for messages, or for an emulated round trip. */
export const isIdle = (event: WaitEvent): boolean =>
  waitEvents[event].class === 'idle' || event === 'client round trip';

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

/**
 * The time of one session, which is in exactly one state at each moment: on CPU, in a wait event, runnable (its wait has
 * ended, but its program has not run yet because the thread is busy with others), or _unnamed_: in a call that named no
 * event, so time that the book cannot explain.
 *
 * The engine marks the waits. Only the program knows when it runs, so it marks that itself:
 *
 *     const batch = await time.suspend(session.dequeue('orders'));
 *     time.resume();
 *
 * A session whose program never does that is in no state but its waits.
 */
export interface SessionTime {
  /** The program runs. At most one session of a recorder is on CPU: one that was, and did not suspend, is unnamed from here on. */
  resume(): void;
  /**
   * The program will await `call`, which has just been made. Returns it. `event`: what it waits for, where the engine of this
   * process does not mark that.
   */
  suspend<T>(call: T, event?: WaitEvent): T;
  /** As `suspend` for a call that only lets other work of the thread run: the session is runnable. */
  yield<T>(call: T): T;
  /** A wait begins; it ends with `end`, or when another begins. */
  begin(event: WaitEvent): void;
  /** The wait has ended: the session is runnable. Does nothing without a wait. */
  end(): void;
  /** The session has ended, and its time with it. */
  close(): void;
}

/** The times of the sessions whose programs mark when they run, summed, milliseconds. */
export interface SessionTimes {
  /** From their first `resume` to their `close`: measured on its own, not summed from the others. */
  elapsedMs: number;
  cpuMs: number;
  /** In wait events that are not idle. */
  waitMs: number;
  /** In wait events of the program's own making: see `isIdle`. */
  idleMs: number;
  runnableMs: number;
  unnamedMs: number;
}

/** The wait events of one instance. Callers may record their own waits too, such as one for flow control. */
export interface WaitLog {
  /** A wait that has ended, of no session. */
  record(event: WaitEvent, ms: number): void;
  /**
   * Totals since the instance opened, with the part of the waits under way; take the difference of two snapshots for an
   * interval. Counts and buckets are of waits that have ended.
   */
  snapshot(): WaitStats[];
  /** Totals since the instance opened, up to now. */
  sessionTimes(): SessionTimes;
}
