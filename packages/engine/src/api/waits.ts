/**
 * Wait events: every place where a session can wait has a name, and each wait is counted and timed in a histogram. A module
 * registers its events beside the code that records them; time books, metrics, pages and the glossary's test read the
 * registry. Names follow the field's where one exists; `docs/glossary.md` says what each measures here.
 */
export type WaitClass = 'commit' | 'concurrency' | 'configuration' | 'network' | 'idle';

export interface WaitEventInfo {
  name: string;
  class: WaitClass;
  /** What it measures, as a phrase. */
  about: string;
  /** Oracle's event, or group of events, that it corresponds to; null if there is none. Default: the event of the same name. */
  standsFor?: string | null;
  /** Injected, and never a wait for something real. Default: no. */
  emulated?: boolean;
  /** Whether the program waits by its own choice: for messages, or for an emulated round trip. Default: true if its class is idle. */
  isIdle?: boolean;
  /**
   * Where the resource that sessions wait for has one holder at a time: in each instance, or in the cluster as a whole. Null (the
   * default): it has no holder.
   */
  oneHolderIn?: 'instance' | 'cluster' | null;
}

/** A registered event. */
export interface WaitEvent extends Readonly<Required<WaitEventInfo>> {
  /** Position in the registry of this process, from 0. */
  readonly index: number;
}

const registered: WaitEvent[] = [];

/**
 * Makes an event known to this process; to be called where its module is loaded. Registered again with the same meaning, it
 * is the same event. Throws a RangeError if the name has another meaning already.
 */
export function registerWaitEvent(info: WaitEventInfo): WaitEvent {
  const event: WaitEvent = {
    emulated: false,
    standsFor: info.name,
    isIdle: info.class === 'idle',
    oneHolderIn: null,
    ...info,
    index: registered.length,
  };
  const known = registered.find(({ name }) => name === info.name);
  if (known === undefined) {
    registered.push(event);
    return event;
  }
  if (JSON.stringify({ ...event, index: known.index }) === JSON.stringify(known)) return known;
  throw new RangeError(`the wait event "${info.name}" is registered with another meaning`);
}

/** All events that this process knows, in the order in which they were registered. */
export const waitEvents = (): readonly WaitEvent[] => registered;

export interface WaitStats {
  /** Its name. */
  event: string;
  class: WaitClass;
  emulated: boolean;
  waits: number;
  totalMs: number;
  /** Number of waits by duration: bucket `i` has the waits longer than the bound of bucket `i - 1`, up to `waitBucketMsMax(i)`. */
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
  const bucket = quantileBucket(buckets, quantile);
  return bucket === undefined ? 0 : waitBucketMsMax(bucket);
}

/** The bucket up to which the share `quantile` (0 to 1) of all counts is; undefined if there are none. */
export function quantileBucket(buckets: readonly number[], quantile: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [index, count] of buckets.entries()) {
    seen += count;
    if (count > 0 && seen >= total * quantile) return index;
  }
  return undefined;
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
  /** Number of the session within its instance. */
  readonly number: number;
  /**
   * Marks the session as on CPU. Only one session of a recorder is on CPU at a time: another that was, and did not call
   * `suspend`, becomes unnamed.
   */
  resume(): void;
  /**
   * To be called right after making `call`, which the program then awaits: ends the CPU time. Returns `call`. `event` names the
   * wait if the engine in this process does not mark it.
   */
  suspend<T>(call: T, event?: WaitEvent): T;
  /** As `suspend`, for a call that only lets other work of the thread run: marks the session as runnable. */
  yield<T>(call: T): T;
  /** Begins a wait, which ends with `end` or with the next `begin`. */
  begin(event: WaitEvent): void;
  /** Ends the wait: the session becomes runnable. Does nothing without a wait. */
  end(): void;
  /**
   * Calls the observer whenever a state ends, with the name of a wait event or one of `sessionStates`, and the state's beginning and end
   * on the monotonic clock of the process. One observer at a time; undefined removes it. For traces of single sessions.
   */
  observe(observer: StateObserver | undefined): void;
  /** Ends the time book, because the session has ended. */
  close(): void;
}

/** Names of the states that are no waits. */
export const sessionStates = { onCpu: 'on CPU', runnable: 'runnable', unnamed: 'unnamed' } as const;

export type StateObserver = (state: string, fromMs: number, toMs: number) => void;

/** The times of the sessions whose programs mark when they run, summed, milliseconds. */
export interface SessionTimes {
  /** Time from their first `resume` to their `close`, measured separately and not summed from the other values. */
  elapsedMs: number;
  cpuMs: number;
  /** In wait events that are not idle. */
  waitMs: number;
  /** In wait events of the program's own making: see `isIdle`. */
  idleMs: number;
  runnableMs: number;
  unnamedMs: number;
}

/** Who held the resource of a wait event and who waited for it, sampled over a window. */
export interface HolderSamples {
  /** Its name. */
  event: string;
  /** Milliseconds between two samples; the first is at the start of the window. */
  everyMs: number;
  samples: HolderSample[];
  /** Number and total time of the holds that began and ended in the window, sampled or not. */
  holds: number;
  heldMs: number;
}

export interface HolderSample {
  /** Number of a session, or a phrase for another kind of holder; null if it was free. */
  holder: number | string | null;
  /** How many sessions wait. */
  waiters: number;
  /** Their numbers, at most `limits.sampledWaitersMax`. */
  waiting: number[];
}

/** The wait events of one instance. Callers may record their own waits too, such as one for flow control. */
export interface WaitLog {
  /** Records a wait that has ended and belongs to no session. */
  record(event: WaitEvent, ms: number): void;
  /**
   * Totals since the instance opened, with the part of the waits under way; take the difference of two snapshots for an
   * interval. Counts and buckets are of waits that have ended.
   */
  snapshot(): WaitStats[];
  /** Totals since the instance opened, up to now. */
  sessionTimes(): SessionTimes;
  /**
   * Samples the holders and waiters of all events that have holders, over a window that begins in `inMs` and lasts `forMs`;
   * without `forMs` it lasts until the returned function is called, which returns the samples. A later call ends an earlier
   * sampling.
   */
  sampleHolders(window: { inMs: number; forMs?: number }): () => HolderSamples[];
  /** Values of all registered counters since the instance opened, by name. */
  counters(): Record<string, number>;
}
