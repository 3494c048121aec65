/**
 * The time book of a thread session, in its part of shared memory: in which wait the session is, since when, and how long all
 * waits took. The session's thread writes it as a seqlock; any thread can read it at any moment, including the elapsed part of a
 * wait while the session sleeps.
 *
 * The parts are measured by different clocks and are not adjusted to add up. A wait is the time by the machine's clock, minus the
 * thread's CPU time (a call to the instance encodes and decodes) and runnable time during the wait. CPU and runnable time come
 * from the scheduler, over the life of the session. The remainder is unexplained time.
 */
import type { MachineClock, ThreadClock, ThreadTimes } from '../model/ports.ts';
import { spinPause } from '../model/spin-pause.ts';

/**
 * The waits of a session: for the mutex and the latch, for messages in `listen` and in `dequeue`, and for answers of its
 * instance.
 */
export const bookedWaits = ['mutex', 'latch', 'listen', 'dequeue', 'call', 'commit'] as const;
export type BookedWait = (typeof bookedWaits)[number];

const fields = ['waiting', 'sinceMs', 'openedMs', 'cpuMs', 'runnableMs', 'preemptedMs'] as const;
const fieldAt = Object.fromEntries(fields.map((name, at) => [name, at])) as Record<
  (typeof fields)[number],
  number
>;
/** The first word is the seqlock's counter, which is odd while a change is under way; only its first four bytes are used. */
const firstField = 1;
/** For each wait its count, then its milliseconds. */
const waitWords = 2;
export const bookWords = firstField + fields.length + waitWords * bookedWaits.length;

/** For a book that nobody reads. */
export const noThreadClock: ThreadClock = {
  times: () => ({ cpuMs: 0, runnableMs: 0 }),
  close: () => undefined,
};

export interface BookedTimes {
  /**
   * Time since the session opened. If it is in a wait, up to now; otherwise up to the last start or end of a wait. All other
   * values cover the same time.
   */
  elapsedMs: number;
  cpuMs: number;
  runnableMs: number;
  /** The part of `runnableMs` after the thread lost its core while the session was in no wait. */
  preemptedMs: number;
  waits: Record<BookedWait, { waits: number; ms: number }>;
}

/** To be called before and after a wait; `end` returns the milliseconds that count as waited. */
export interface WaitTimer {
  begin(): void;
  /** `counts` tells whether the number of waits grows by one; the time counts in any case. */
  end(counts: boolean): number;
}

/** An answer of the instance wakes the event loop. Its work until the program continues is CPU time, not a wait. */
const runsMeanwhile: readonly BookedWait[] = ['call', 'commit'];

/**
 * Reads of the seqlock before a reader settles for an inconsistent copy: the writing thread may have lost its core in the middle
 * of a change.
 */
const readsMax = 10_000;

export class SessionBook {
  readonly #words: Float64Array;
  readonly #changes: Int32Array;

  constructor(words: Float64Array) {
    this.#changes = new Int32Array(words.buffer, words.byteOffset, 1);
    this.#words = words.subarray(firstField);
  }

  /** Begins the book of a session of the calling thread. */
  open(clocks: { clock: MachineClock; threadClock: ThreadClock }): OpenBook {
    return new OpenBook(this.#words, this.#changes, clocks);
  }

  read(nowMs: number): BookedTimes {
    return timesOf(this.#copy(), nowMs);
  }

  #copy(): Float64Array {
    for (let read = 1; ; read += 1) {
      const before = Atomics.load(this.#changes, 0);
      const words = this.#words.slice();
      if ((before % 2 === 0 && Atomics.load(this.#changes, 0) === before) || read === readsMax) return words;
      spinPause();
    }
  }
}

function timesOf(words: Float64Array, nowMs: number): BookedTimes {
  const openedMs = words[fieldAt.openedMs]!;
  const underWay = words[fieldAt.waiting]! - 1;
  const untilMs = underWay < 0 ? words[fieldAt.sinceMs]! : nowMs;
  const ofWait = (wait: BookedWait, index: number) => {
    const at = fields.length + waitWords * index;
    const ms = words[at + 1]! + (index === underWay ? nowMs - words[fieldAt.sinceMs]! : 0);
    return [wait, { waits: words[at]!, ms }] as const;
  };
  return {
    elapsedMs: openedMs === 0 ? 0 : untilMs - openedMs,
    cpuMs: words[fieldAt.cpuMs]!,
    runnableMs: words[fieldAt.runnableMs]!,
    preemptedMs: words[fieldAt.preemptedMs]!,
    waits: Object.fromEntries(bookedWaits.map(ofWait)) as BookedTimes['waits'],
  };
}

/** The book as the thread of the session writes it. */
export class OpenBook {
  readonly #words: Float64Array;
  readonly #changes: Int32Array;
  readonly #clock: MachineClock;
  readonly #threadClock: ThreadClock;
  readonly #start: ThreadTimes;
  /** When the wait under way began. */
  #begun: ThreadTimes;
  #wait: BookedWait | undefined;

  constructor(
    words: Float64Array,
    changes: Int32Array,
    { clock, threadClock }: { clock: MachineClock; threadClock: ThreadClock },
  ) {
    this.#words = words;
    this.#changes = changes;
    this.#clock = clock;
    this.#threadClock = threadClock;
    this.#start = threadClock.times({ exact: true });
    this.#begun = this.#start;
    this.#change(() => {
      words.fill(0);
      words[fieldAt.openedMs] = clock.nowMs();
      words[fieldAt.sinceMs] = words[fieldAt.openedMs]!;
    });
  }

  timer(wait: BookedWait): WaitTimer {
    return { begin: () => this.begin(wait), end: (counts) => this.end(counts) };
  }

  begin(wait: BookedWait): void {
    const times = this.#threadClock.times({ exact: runsMeanwhile.includes(wait) });
    const nowMs = this.#clock.nowMs();
    this.#wait = wait;
    this.#change((words) => {
      words[fieldAt.preemptedMs]! += times.runnableMs - this.#start.runnableMs - words[fieldAt.runnableMs]!;
      this.#note(times);
      words[fieldAt.waiting] = 1 + bookedWaits.indexOf(wait);
      words[fieldAt.sinceMs] = nowMs;
    });
    this.#begun = times;
  }

  /** Ends the wait under way. Returns its milliseconds. */
  end(counts = true): number {
    const wait = this.#wait;
    if (wait === undefined) return 0;
    const ran = runsMeanwhile.includes(wait);
    const times = this.#threadClock.times({ exact: ran });
    const nowMs = this.#clock.nowMs();
    const runnableMs = times.runnableMs - this.#begun.runnableMs;
    const cpuMs = ran ? times.cpuMs - this.#begun.cpuMs : 0;
    const at = fields.length + waitWords * bookedWaits.indexOf(wait);
    const ms = nowMs - this.#words[fieldAt.sinceMs]! - runnableMs - cpuMs;
    this.#wait = undefined;
    this.#change((words) => {
      this.#note(times);
      words[fieldAt.waiting] = 0;
      words[fieldAt.sinceMs] = nowMs;
      if (counts) words[at]! += 1;
      words[at + 1]! += ms;
    });
    return ms;
  }

  close(): void {
    this.end();
    const times = this.#threadClock.times({ exact: true });
    const nowMs = this.#clock.nowMs();
    this.#change((words) => {
      this.#note(times);
      words[fieldAt.sinceMs] = nowMs;
    });
    this.#threadClock.close();
  }

  #note({ cpuMs, runnableMs }: ThreadTimes): void {
    this.#words[fieldAt.cpuMs] = cpuMs - this.#start.cpuMs;
    this.#words[fieldAt.runnableMs] = runnableMs - this.#start.runnableMs;
  }

  #change(change: (words: Float64Array) => void): void {
    Atomics.add(this.#changes, 0, 1);
    change(this.#words);
    Atomics.add(this.#changes, 0, 1);
  }
}
