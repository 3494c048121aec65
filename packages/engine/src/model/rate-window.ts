/**
 * Recent growth of two counters. The window starts at one of two baselines that advance in turn, so it covers one to two
 * window lengths, and a counter that stopped growing reads 0 after two.
 */
import { limits } from '../api/limits.ts';
import type { DrainState } from '../api/queue-stats.ts';

export interface Flow {
  /** Length of the window, and how much each counter grew within it. */
  windowMs: number;
  windowIn: number;
  windowOut: number;
}

interface RateBaseline {
  atMs: number;
  in: number;
  out: number;
}

export class RateWindow {
  #baseline: RateBaseline;
  #nextBaseline: RateBaseline;
  readonly #lengthMs: number;

  /** `atMs`: the current monotonic time. */
  constructor(atMs: number, counters: { in: number; out: number }, lengthMs: number = limits.rateWindowMs) {
    this.#baseline = { atMs, ...counters };
    this.#nextBaseline = this.#baseline;
    this.#lengthMs = lengthMs;
  }

  /** Must be called at least once per window length. */
  advance(atMs: number, counters: { in: number; out: number }): void {
    if (atMs - this.#nextBaseline.atMs < this.#lengthMs) return;
    this.#baseline = this.#nextBaseline;
    this.#nextBaseline = { atMs, ...counters };
  }

  /** Growth up to now. A counter that fell, as when a subscriber is removed with its backlog, reads 0. */
  flow(atMs: number, counters: { in: number; out: number }): Flow {
    return {
      windowMs: atMs - this.#baseline.atMs,
      windowIn: Math.max(0, counters.in - this.#baseline.in),
      windowOut: Math.max(0, counters.out - this.#baseline.out),
    };
  }
}

export interface DrainEstimate {
  enqueuePerSec: number;
  dequeuePerSec: number;
  state: DrainState;
  /** Time until it is empty at these rates; null unless it is draining. */
  drainMs: number | null;
  /** The same, assuming that no more messages are enqueued; null if none are dequeued. */
  drainMsWithoutEnqueues: number | null;
}

/** Divides the depth by the net rate. `storage/instance-file/tables/sample-views.ts` has the same rule in SQL. */
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
  return windowIn > windowOut ? 'growing' : 'steady';
}
