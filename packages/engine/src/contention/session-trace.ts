/**
 * The latest events of each session with their times, on the machine's clock, which all threads share. Each session writes its own
 * part of shared memory; it is read when nothing happens.
 */

import type { SessionEvent } from '../api/shared-queue.ts';
import type { ThreadSessionNumber } from '../model/ids.ts';

/** A get of a guard has all three times; of other events they are equal. */
export const eventKinds = [
  'posted',
  'woken',
  'found',
  'found nothing',
  'mutex',
  'latch',
  'dequeued',
] as const;
const eventWords = 4;

export type EventKind = (typeof eventKinds)[number];

export const traceBytes = ({ sessions, eventsMax }: { sessions: number; eventsMax: number }): number =>
  sessions * (1 + eventsMax * eventWords) * Float64Array.BYTES_PER_ELEMENT;

export class SessionTrace {
  readonly #session: ThreadSessionNumber;
  /** First the number of events so far, then a ring of them. */
  readonly #words: Float64Array;
  readonly #eventsMax: number;

  constructor(
    memory: SharedArrayBuffer,
    { session, eventsMax }: { session: ThreadSessionNumber; eventsMax: number },
  ) {
    const words = 1 + eventsMax * eventWords;
    this.#session = session;
    this.#words = new Float64Array(memory).subarray(session * words, (session + 1) * words);
    this.#eventsMax = eventsMax;
  }

  add(kind: EventKind, calledMs: number, gotMs = calledMs, endedMs = gotMs): void {
    const at = 1 + (this.#words[0]! % this.#eventsMax) * eventWords;
    this.#words.set([eventKinds.indexOf(kind), calledMs, gotMs, endedMs], at);
    this.#words[0]! += 1;
  }

  clear(): void {
    this.#words.fill(0);
  }

  /** Returns the events, the earliest first. */
  read(): SessionEvent[] {
    const count = this.#words[0]!;
    const first = Math.max(0, count - this.#eventsMax);
    return Array.from({ length: count - first }, (_, index) => {
      const at = 1 + ((first + index) % this.#eventsMax) * eventWords;
      const [kind, calledMs, gotMs, endedMs] = this.#words.subarray(at, at + eventWords);
      return {
        session: this.#session,
        kind: eventKinds[kind!]!,
        calledMs: calledMs!,
        gotMs: gotMs!,
        endedMs: endedMs!,
      };
    });
  }
}
