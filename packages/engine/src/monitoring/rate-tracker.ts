/** Keeps, for every log and cursor, the window over which its rates are counted, and the time of the last dequeue. */

import type { MessageLog } from '../log/message-log.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { Clock } from '../model/ports.ts';
import { type Flow, RateWindow } from '../model/rate-window.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';

/** One moment on both clocks. */
export interface ClockReading {
  epochMs: number;
  monotonicMs: number;
}

export function readClock(clock: Clock): ClockReading {
  return { epochMs: clock.epochMs(), monotonicMs: clock.monotonicMs() };
}

interface RateState {
  window: RateWindow;
  /** Value at the last `advance`. */
  dequeued: number;
  lastDequeueMs: number | null;
}

export class RateTracker {
  readonly #states = new WeakMap<MessageLog | SubscriberCursor, RateState>();

  /** Advances the windows. Call it about once a second; the first call for a log or cursor opens its window. */
  advance(queue: ShardedQueue, now: ClockReading): void {
    for (const log of queue.logs) {
      this.#stateOf(log, now).window.advance(now.monotonicMs, countersOf(log));
      for (const cursor of log.cursors) {
        const state = this.#stateOf(cursor, now);
        state.window.advance(now.monotonicMs, countersOf(cursor));
        if (cursor.dequeued > state.dequeued) state.lastDequeueMs = now.epochMs;
        state.dequeued = cursor.dequeued;
      }
    }
  }

  /** `windowMs` is rounded. */
  flow(source: MessageLog | SubscriberCursor, now: ClockReading): Flow {
    const flow = this.#stateOf(source, now).window.flow(now.monotonicMs, countersOf(source));
    return { ...flow, windowMs: Math.round(flow.windowMs) };
  }

  /** Messages of a queue that are consumed in a second. */
  consumedPerSec(queue: ShardedQueue, now: ClockReading): number {
    let perSec = 0;
    for (const log of queue.logs) {
      const { windowOut, windowMs } = this.#stateOf(log, now).window.flow(now.monotonicMs, countersOf(log));
      if (windowMs > 0) perSec += (windowOut * 1000) / windowMs;
    }
    return perSec;
  }

  /** Epoch ms, as exact as the calls of `advance` are frequent; null if there was none since the instance opened. */
  lastDequeueAtMs(cursor: SubscriberCursor, now: ClockReading): number | null {
    const { dequeued, lastDequeueMs } = this.#stateOf(cursor, now);
    return cursor.dequeued > dequeued ? now.epochMs : lastDequeueMs;
  }

  #stateOf(source: MessageLog | SubscriberCursor, { monotonicMs }: ClockReading): RateState {
    let state = this.#states.get(source);
    if (state === undefined) {
      const window = new RateWindow(monotonicMs, countersOf(source));
      state = { window, dequeued: 0, lastDequeueMs: null };
      this.#states.set(source, state);
    }
    return state;
  }
}

/** For a cursor, `in` counts the messages that came to its log, and `out` those that its subscriber consumed. */
function countersOf(source: MessageLog | SubscriberCursor): { in: number; out: number } {
  if ('cursors' in source) return { in: source.enqueued, out: source.enqueued - source.backlog };
  return { in: source.log.enqueued, out: source.dequeued };
}
