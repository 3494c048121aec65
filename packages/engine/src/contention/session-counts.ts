/**
 * The counters of each session, in its own part of shared memory, so that counting needs no latch or mutex and any thread can
 * read them.
 */

import type { GuardStatistics, ThreadSessionStatistics } from '../api/shared-queue.ts';
import type { ThreadSessionNumber } from '../model/ids.ts';
import { bookWords, SessionBook } from './session-book.ts';

/** Up to 2^40 ns, 18 minutes. */
const histogramBuckets = 40;
const guardFields = ['gets', 'misses', 'spinGets', 'sleeps', 'recurrentSleeps', 'totalMs', 'maxMs'] as const;
const sessionFields = [
  'locks',
  'pins',
  'enqueued',
  'dequeued',
  'dequeuedNothing',
  'listens',
  'listenTimeouts',
  'wakeUps',
  'falseWakeUps',
  'postsTaken',
  'messageWakeUps',
  'polls',
] as const;
const guardWords = guardFields.length + histogramBuckets;
const sessionWords = bookWords + sessionFields.length + 2 * guardWords;

type GuardField = (typeof guardFields)[number];
type SessionField = (typeof sessionFields)[number];

const guardAt = Object.fromEntries(guardFields.map((name, at) => [name, at])) as Record<GuardField, number>;
const sessionAt = Object.fromEntries(sessionFields.map((name, at) => [name, at])) as Record<
  SessionField,
  number
>;

export const statisticsBytes = (sessions: number): number =>
  sessions * sessionWords * Float64Array.BYTES_PER_ELEMENT;

/** The counts of one latch or mutex. */
export class GuardCounts {
  readonly #values: Float64Array;

  constructor(values: Float64Array = new Float64Array(guardWords)) {
    this.#values = values;
  }

  add(field: GuardField, amount = 1): void {
    this.#values[guardAt[field]]! += amount;
  }

  /** A get was released `ms` after it was called. */
  released(ms: number): void {
    const values = this.#values;
    values[guardAt.totalMs]! += ms;
    if (ms > values[guardAt.maxMs]!) values[guardAt.maxMs] = ms;
    const bucket = ms <= 1e-6 ? 0 : Math.floor(Math.log2(ms * 1e6));
    values[guardFields.length + Math.min(bucket, histogramBuckets - 1)]! += 1;
  }

  /** Times asleep are in the session's book. */
  read(): Omit<GuardStatistics, 'sleepMs'> {
    const fields = Object.fromEntries(guardFields.map((name, at) => [name, this.#values[at]!]));
    return {
      ...(fields as Record<GuardField, number>),
      histogram: [...this.#values.subarray(guardFields.length)],
    };
  }
}

export class SessionCounts {
  readonly latch: GuardCounts;
  readonly mutex: GuardCounts;
  readonly book: SessionBook;
  readonly #values: Float64Array;

  constructor(statistics: SharedArrayBuffer, session: ThreadSessionNumber) {
    const words = new Float64Array(statistics).subarray(session * sessionWords, (session + 1) * sessionWords);
    this.book = new SessionBook(words.subarray(0, bookWords));
    const values = words.subarray(bookWords);
    const guard = (index: number) => {
      const start = sessionFields.length + index * guardWords;
      return new GuardCounts(values.subarray(start, start + guardWords));
    };
    this.#values = values;
    this.latch = guard(0);
    this.mutex = guard(1);
  }

  add(field: SessionField, amount = 1): void {
    this.#values[sessionAt[field]]! += amount;
  }

  clear(): void {
    this.#values.fill(0);
  }

  /** Times are up to now. */
  read(nowMs: number): Omit<ThreadSessionStatistics, 'session' | 'state'> {
    const fields = Object.fromEntries(sessionFields.map((name, at) => [name, this.#values[at]!]));
    const { waits, ...times } = this.book.read(nowMs);
    return {
      ...(fields as Record<SessionField, number>),
      ...times,
      latch: { ...this.latch.read(), sleepMs: waits.latch.ms },
      mutex: { ...this.mutex.read(), sleepMs: waits.mutex.ms },
      listenSleeps: waits.listen.waits,
      listenMs: waits.listen.ms,
      dequeueSleeps: waits.dequeue.waits,
      dequeueMs: waits.dequeue.ms,
      calls: waits.call.waits,
      callMs: waits.call.ms,
      commits: waits.commit.waits,
      commitMs: waits.commit.ms,
    };
  }
}
