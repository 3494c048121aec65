/**
 * How fast two counters grew lately: the difference over a stated window. The window begins at one of two marks, which
 * move up in turn, so it covers between one and two lengths, and what stands still reads 0 after two.
 */
import { limits } from './limits.ts';

export interface Flow {
  /** What came in and went out within the window, and how long that is, milliseconds. */
  windowMs: number;
  windowIn: number;
  windowOut: number;
}

interface Mark {
  atMs: number;
  in: number;
  out: number;
}

export class RateWindow {
  #from: Mark;
  #next: Mark;
  readonly #lengthMs: number;

  /** `atMs`: now, on a clock that never goes back. */
  constructor(atMs: number, counters: { in: number; out: number }, lengthMs: number = limits.rateWindowMs) {
    this.#from = { atMs, ...counters };
    this.#next = this.#from;
    this.#lengthMs = lengthMs;
  }

  /** To be called more often than the window is long. */
  advance(atMs: number, counters: { in: number; out: number }): void {
    if (atMs - this.#next.atMs < this.#lengthMs) return;
    this.#from = this.#next;
    this.#next = { atMs, ...counters };
  }

  /** Up to now. A counter that fell, as when a subscriber went and took its backlog along, reads 0. */
  flow(atMs: number, counters: { in: number; out: number }): Flow {
    return {
      windowMs: atMs - this.#from.atMs,
      windowIn: Math.max(0, counters.in - this.#from.in),
      windowOut: Math.max(0, counters.out - this.#from.out),
    };
  }
}

/** `standing`: there are messages, and as many come as go, or none does either. */
export type DrainState = 'empty' | 'draining' | 'growing' | 'standing';

export interface DrainEstimate {
  enqueuePerSec: number;
  dequeuePerSec: number;
  state: DrainState;
  /** Until it is empty at these rates; null unless it drains. */
  drainMs: number | null;
  /** The same if nothing more came; null if nothing goes. */
  drainMsWithoutEnqueues: number | null;
}

/** Depth divided by what goes in excess of what comes. The views say the same in SQL (`storage/sample-views.ts`). */
export function estimateDrain(depth: number, { windowMs, windowIn, windowOut }: Flow): DrainEstimate {
  const perSec = (count: number) => (windowMs > 0 ? (count * 1000) / windowMs : 0);
  const state = drainState(depth, windowIn, windowOut);
  const net = windowOut - windowIn;
  return {
    enqueuePerSec: perSec(windowIn),
    dequeuePerSec: perSec(windowOut),
    state,
    drainMs: state === 'draining' ? (depth * windowMs) / net : null,
    drainMsWithoutEnqueues: windowOut > 0 ? (depth * windowMs) / windowOut : null,
  };
}

function drainState(depth: number, windowIn: number, windowOut: number): DrainState {
  if (depth === 0) return 'empty';
  if (windowOut > windowIn) return 'draining';
  return windowIn > windowOut ? 'growing' : 'standing';
}
