/**
 * A word in shared memory that one thread holds at a time: the latch of the broadcast channel, and the mutex of each copy of
 * the metadata object. A get that misses spins, since sections are shorter than putting a thread to sleep; then it sleeps.
 *
 * The holder's number is in the word. A releasing thread writes 0 and then reads the number of sleepers; a thread that goes to
 * sleep raises that number and then compares the word. One of the two sees the other, so no release is slept through.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { CallingThread, MachineClock } from '../model/ports.ts';
import { spinPause } from '../model/spin-pause.ts';
import { latchWords } from './queue-memory.ts';
import type { WaitTimer } from './session-book.ts';
import type { GuardCounts } from './session-counts.ts';

/** Runs a section that no other thread of the process runs at the same time. */
export interface Guard {
  /** Counts as one get. `section` is synchronous and does not take the guard again. Throws `LATCH_TIMEOUT`. */
  within<T>(section: () => T): T;
}

const free = 0;

export interface LatchOptions {
  words: Int32Array;
  /** Index of its first word. */
  at: number;
  /** Number of the holder, from 1. */
  holder: number;
  counts: GuardCounts;
  /** Times its sleeps. */
  timer: WaitTimer;
  /** Called after each release, with the times of the call, the success and the release. */
  onReleased?: ((calledMs: number, gotMs: number, releasedMs: number) => void) | undefined;
  clock: MachineClock;
  thread: Pick<CallingThread, 'wait'>;
  /** Further tries of a get that missed or was woken, before it sleeps. */
  spins?: number;
  /** Longest time of a get, ms. */
  getMsMax?: number;
}

export class Latch implements Guard {
  readonly #options: LatchOptions & Required<Pick<LatchOptions, 'spins' | 'getMsMax'>>;

  constructor(options: LatchOptions) {
    this.#options = { spins: limits.latchSpins, getMsMax: limits.latchGetMsMax, ...options };
  }

  within<T>(section: () => T): T {
    const { counts, clock, onReleased } = this.#options;
    const calledMs = clock.nowMs();
    counts.add('gets');
    if (!this.#tryGet()) this.#getAfterMiss(calledMs);
    const gotMs = onReleased === undefined ? calledMs : clock.nowMs();
    try {
      return section();
    } finally {
      this.#release();
      const releasedMs = clock.nowMs();
      counts.released(releasedMs - calledMs);
      onReleased?.(calledMs, gotMs, releasedMs);
    }
  }

  #tryGet(): boolean {
    const { words, at, holder } = this.#options;
    return Atomics.compareExchange(words, at + latchWords.holder, free, holder) === free;
  }

  #getAfterMiss(calledMs: number): void {
    const { words, at, counts, timer, spins, clock, thread, getMsMax } = this.#options;
    const [holderAt, sleepersAt] = [at + latchWords.holder, at + latchWords.sleepers];
    counts.add('misses');
    for (let sleeps = 0; ; ) {
      for (let spin = 0; spin <= spins; spin += 1) {
        if (Atomics.load(words, holderAt) === free && this.#tryGet()) {
          if (sleeps === 0) counts.add('spinGets');
          return;
        }
        spinPause();
      }
      const leftMs = calledMs + getMsMax - clock.nowMs();
      if (leftMs <= 0) this.#fail();
      timer.begin();
      Atomics.add(words, sleepersAt, 1);
      const holder = Atomics.load(words, holderAt);
      const slept = holder !== free && thread.wait(words, holderAt, holder, leftMs) !== 'not-equal';
      Atomics.sub(words, sleepersAt, 1);
      timer.end(slept);
      if (!slept) continue; // the word had changed before the wait, so this does not count as a sleep
      counts.add('sleeps');
      if (sleeps > 0) counts.add('recurrentSleeps');
      sleeps += 1;
    }
  }

  #release(): void {
    const { words, at } = this.#options;
    Atomics.store(words, at + latchWords.holder, free);
    if (Atomics.load(words, at + latchWords.sleepers) > 0) Atomics.notify(words, at + latchWords.holder, 1);
  }

  #fail(): never {
    const { words, at, getMsMax } = this.#options;
    const session = Atomics.load(words, at + latchWords.holder) - 1;
    throw new QueueError('LATCH_TIMEOUT', { details: { session, getMsMax } });
  }
}
