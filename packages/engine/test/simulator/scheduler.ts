/**
 * Simulated time. Whatever would happen by itself, such as a timer or the answer of a disk, is an event in one queue. Events are
 * ordered by time and then by the order in which they were scheduled, so that a seed always gives the same run.
 */
import type { Clock, Ports, Timer, Timers } from '../../src/model/ports.ts';
import { random } from '../random.ts';

interface Event {
  atMs: number;
  order: number;
  cancelled: boolean;
  run(): void;
}

/** The random numbers of a run, from its seed. */
export class Chance {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = random(seed);
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** True in `percent` of 100 draws. */
  percent(percent: number): boolean {
    return this.#next() * 100 < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

/** Wall-clock time at simulated time 0. */
const epochMsAtStart = Date.UTC(2026, 0, 1);

export class Scheduler {
  readonly clock: Clock;
  #nowMs = 0;
  /** By how much the wall clock was set, ms. */
  #wallClockOffsetMs = 0;
  #lastOrder = 0;
  /** A binary heap whose first event is the next one. */
  readonly #events: Event[] = [];

  constructor() {
    this.clock = {
      epochMs: () => epochMsAtStart + this.#wallClockOffsetMs + Math.floor(this.#nowMs),
      monotonicMs: () => this.#nowMs,
    };
  }

  /** Sets the wall clock forward or back. Simulated time does not change. */
  setWallClock(byMs: number): void {
    this.#wallClockOffsetMs += byMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Number of scheduled events, including cancelled ones that are not removed yet. */
  get size(): number {
    return this.#events.length;
  }

  at(atMs: number, run: () => void): Timer {
    this.#lastOrder += 1;
    const event = { atMs: Math.max(atMs, this.#nowMs), order: this.#lastOrder, cancelled: false, run };
    this.#push(event);
    return {
      cancel: () => {
        event.cancelled = true;
      },
    };
  }

  after(ms: number, run: () => void): Timer {
    return this.at(this.#nowMs + Math.max(0, ms), run);
  }

  /** When the next event is due; undefined if there is none. */
  get nextAtMs(): number | undefined {
    while (this.#events[0]?.cancelled) this.#pop();
    return this.#events[0]?.atMs;
  }

  /** Moves time to the next event and runs it. Returns false if there is none by `untilMs`. */
  runNext(untilMs = Number.POSITIVE_INFINITY): boolean {
    const atMs = this.nextAtMs;
    if (atMs === undefined || atMs > untilMs) return false;
    const event = this.#pop();
    this.#nowMs = event.atMs;
    event.run();
    return true;
  }

  /** Moves time forward. No event may be due before. */
  moveTo(atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  #push(event: Event): void {
    const events = this.#events;
    let index = events.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(event, events[parent]!)) break;
      events[index] = events[parent]!;
      index = parent;
    }
    events[index] = event;
  }

  #pop(): Event {
    const events = this.#events;
    const first = events[0]!;
    const last = events.pop()!;
    if (events.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1]!, events[child]!)) child += 1;
      if (!isBefore(events[child]!, last)) break;
      events[index] = events[child]!;
      index = child;
    }
    events[index] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** The ports of one opening of an instance. None of its callbacks runs after `end`, which stands for a kill. */
export class SimulatedPorts implements Ports {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Ports['random'];
  readonly #scheduler: Scheduler;
  #ended = false;

  constructor(scheduler: Scheduler, chance: Chance) {
    this.#scheduler = scheduler;
    this.clock = scheduler.clock;
    this.timers = {
      after: (ms, callback) => this.after(ms, callback),
      deadline: (ms, callback) => this.after(ms, callback),
      every: (ms, callback) => this.#every(ms, callback),
      nextTurn: (callback) => void this.after(0, callback),
    };
    this.random = { bytes: (count) => Uint8Array.from({ length: count }, () => chance.below(256)) };
  }

  after(ms: number, callback: () => void): Timer {
    return this.#scheduler.after(ms, () => {
      if (!this.#ended) callback();
    });
  }

  #every(ms: number, callback: () => void): Timer {
    let timer = this.after(ms, fire);
    const ports = this;
    function fire(): void {
      timer = ports.after(ms, fire);
      callback();
    }
    return { cancel: () => timer.cancel() };
  }

  end(): void {
    this.#ended = true;
  }
}

/**
 * Resolves when all promises that can settle without another event have settled, since Node runs the next tick only then. Waiting for
 * a turn of the event loop would do the same, but takes a seventh more of a run's CPU.
 */
export function drainPromises(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
