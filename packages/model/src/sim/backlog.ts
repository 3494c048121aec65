/**
 * Committed messages and where they are: one *place* for each instance of a sharded queue, one for all instances of an unsharded
 * queue. A message is stored once; each subscriber takes the place's messages in order at its own pace.
 *
 * Per place and subscriber: visible ≥ taken ≥ consumed. Messages that are taken and not consumed are held.
 */
import { JobLists } from './job-lists.ts';
import type { Layout } from './layout.ts';

/** Messages that became visible together, of one sending time; in a ring that grows as far as the slowest subscriber needs. */
interface Batches {
  /** Visible messages of the place, this batch included. */
  upTo: Float64Array;
  sentAt: Float64Array;
  /** Batches ever; the ring holds the last ones. */
  count: number;
}

const firstCapacity = 64;

export class Backlog {
  readonly #subscribers: number;
  readonly #batches: Batches[];
  readonly #visible: Float64Array;
  readonly #taken: Float64Array;
  readonly #consumed: Float64Array;
  /** The batch that each subscriber reads from. */
  readonly #cursor: Float64Array;
  readonly #waiters: JobLists;
  readonly #waiting: Int32Array;
  /** Mean sending time of what `take` took last. */
  lastTakenSentAt = 0;

  constructor(places: number, layout: Layout) {
    this.#subscribers = layout.subscribers;
    const readers = places * layout.subscribers;
    this.#batches = Array.from({ length: places }, () => ({
      upTo: new Float64Array(firstCapacity),
      sentAt: new Float64Array(firstCapacity),
      count: 0,
    }));
    this.#visible = new Float64Array(places);
    this.#taken = new Float64Array(readers);
    this.#consumed = new Float64Array(readers);
    this.#cursor = new Float64Array(readers);
    this.#waiters = new JobLists(readers, layout.jobs);
    this.#waiting = new Int32Array(places);
  }

  append(place: number, messages: number, sentAt: number): void {
    const batches = this.#batches[place]!;
    if (batches.count - this.#oldestBatch(place, batches) >= batches.upTo.length) grow(batches);
    this.#visible[place] = this.#visible[place]! + messages;
    const slot = batches.count & (batches.upTo.length - 1);
    batches.upTo[slot] = this.#visible[place]!;
    batches.sentAt[slot] = sentAt;
    batches.count += 1;
  }

  /** Looked up only when the ring might be full. */
  #oldestBatch(place: number, batches: Batches): number {
    if (batches.count < batches.upTo.length) return 0;
    let oldest = batches.count;
    const first = place * this.#subscribers;
    for (let reader = first; reader < first + this.#subscribers; reader++)
      oldest = Math.min(oldest, this.#cursor[reader]!);
    return oldest;
  }

  ready(place: number, subscriber: number): number {
    return this.#visible[place]! - this.#taken[place * this.#subscribers + subscriber]!;
  }

  held(place: number, subscriber: number): number {
    const reader = place * this.#subscribers + subscriber;
    return this.#taken[reader]! - this.#consumed[reader]!;
  }

  /** Takes up to `max` messages for a subscriber; how many. */
  take(place: number, subscriber: number, max: number): number {
    const reader = place * this.#subscribers + subscriber;
    const before = this.#taken[reader]!;
    const got = Math.min(max, this.#visible[place]! - before);
    if (got <= 0) return 0;
    const after = before + got;
    const { upTo, sentAt } = this.#batches[place]!;
    const mask = upTo.length - 1;
    let cursor = this.#cursor[reader]!;
    let from = before;
    let sum = 0;
    while (from < after) {
      const end = upTo[cursor & mask]!;
      const to = Math.min(end, after);
      sum += (to - from) * sentAt[cursor & mask]!;
      from = to;
      if (to === end) cursor += 1;
    }
    this.#cursor[reader] = cursor;
    this.#taken[reader] = after;
    this.lastTakenSentAt = sum / got;
    return got;
  }

  consume(place: number, subscriber: number, messages: number): void {
    const reader = place * this.#subscribers + subscriber;
    this.#consumed[reader] = this.#consumed[reader]! + messages;
  }

  /** Messages that the slowest subscriber has not consumed. */
  unconsumed(place: number): number {
    const first = place * this.#subscribers;
    let consumed = Number.POSITIVE_INFINITY;
    for (let reader = first; reader < first + this.#subscribers; reader++)
      consumed = Math.min(consumed, this.#consumed[reader]!);
    return this.#visible[place]! - consumed;
  }

  wait(place: number, subscriber: number, job: number): void {
    this.#waiters.push(place * this.#subscribers + subscriber, job);
    this.#waiting[place] = this.#waiting[place]! + 1;
  }

  stopWaiting(place: number, subscriber: number, job: number): void {
    this.#waiters.remove(place * this.#subscribers + subscriber, job);
    this.#waiting[place] = this.#waiting[place]! - 1;
  }

  /** A job that waits at the place and has messages there now, or -1; it waits no longer. */
  nextToServe(place: number): number {
    if (this.#waiting[place] === 0) return -1;
    const visible = this.#visible[place]!;
    const first = place * this.#subscribers;
    for (let reader = first; reader < first + this.#subscribers; reader++) {
      if (this.#waiters.length(reader) === 0 || this.#taken[reader]! >= visible) continue;
      this.#waiting[place] = this.#waiting[place]! - 1;
      return this.#waiters.shift(reader);
    }
    return -1;
  }

  isWaiting(place: number): boolean {
    return this.#waiting[place]! > 0;
  }

  /** All places together. Deliveries count each subscriber. */
  totals(): { visible: number; taken: number; consumed: number } {
    const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
    return { visible: sum(this.#visible), taken: sum(this.#taken), consumed: sum(this.#consumed) };
  }
}

function grow(batches: Batches): void {
  const { upTo, sentAt, count } = batches;
  const size = upTo.length;
  batches.upTo = new Float64Array(size * 2);
  batches.sentAt = new Float64Array(size * 2);
  for (let batch = count - size; batch < count; batch++) {
    batches.upTo[batch & (size * 2 - 1)] = upTo[batch & (size - 1)]!;
    batches.sentAt[batch & (size * 2 - 1)] = sentAt[batch & (size - 1)]!;
  }
}
