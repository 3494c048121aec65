/** Ports whose time only moves when the test advances it. Random bytes are the same in every run. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Ports, Random, Timer, Timers } from '../../src/model/ports.ts';
import { random } from '../random.ts';

interface PendingTimer {
  atMs: number;
  everyMs: number | undefined;
  callback(): void;
}

export class ManualPorts implements Ports {
  readonly clock: Clock;
  readonly timers: Timers & { deadline: Timers['after'] };
  readonly random: Random;
  /** Timers in the order in which they were set, so that those of the same moment fire in that order. */
  readonly #pending = new Set<PendingTimer>();
  #nowMs = 0;

  /** `epochMsAtStart`: wall-clock time at monotonic time 0. */
  constructor({ seed = 1, epochMsAtStart = Date.UTC(2026, 0, 1) } = {}) {
    const nextNumber = random(seed);
    this.clock = {
      epochMs: () => epochMsAtStart + Math.floor(this.#nowMs),
      monotonicMs: () => this.#nowMs,
    };
    this.timers = {
      after: (ms, callback) => this.#set(ms, undefined, callback),
      deadline: (ms, callback) => this.#set(ms, undefined, callback),
      every: (ms, callback) => this.#set(ms, ms, callback),
      nextTurn: (callback) => void this.#set(0, undefined, callback),
    };
    this.random = {
      bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(nextNumber() * 256)),
    };
  }

  #set(ms: number, everyMs: number | undefined, callback: () => void): Timer {
    const timer = { atMs: this.#nowMs + Math.max(0, ms), everyMs, callback };
    this.#pending.add(timer);
    return { cancel: () => void this.#pending.delete(timer) };
  }

  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Fires the timers that are due within `ms`, in order. After each one, promises settle before the next fires. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await nextTurn();
    for (let timer = this.#nextTimer(untilMs); timer !== undefined; timer = this.#nextTimer(untilMs)) {
      this.#nowMs = timer.atMs;
      if (timer.everyMs === undefined) this.#pending.delete(timer);
      else timer.atMs += timer.everyMs;
      timer.callback();
      await nextTurn();
    }
    this.#nowMs = untilMs;
  }

  #nextTimer(untilMs: number): PendingTimer | undefined {
    let next: PendingTimer | undefined;
    for (const timer of this.#pending) {
      if (timer.atMs <= untilMs && (next === undefined || timer.atMs < next.atMs)) next = timer;
    }
    return next;
  }
}
