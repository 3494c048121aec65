/**
 * Lets timers and sockets run. A synchronous library resolves its promises without ever leaving the microtask queue, so
 * the end of a phase would never be noticed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

const turnMs = 8;
let lastTurnMs = 0;

/** Yields to the event loop if that has not happened for a while; otherwise only reads the clock. */
export async function yieldToEventLoop(): Promise<void> {
  if (performance.now() - lastTurnMs < turnMs) return;
  await nextTurn();
  lastTurnMs = performance.now();
}
