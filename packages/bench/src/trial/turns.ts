/**
 * Gives timers and sockets their turn. A library that works synchronously resolves its promises without ever leaving
 * the microtask queue, and the end of a phase would never come.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

const turnMs = 8;
let lastTurnMs = 0;

/** Yields a turn of the event loop if none was for a while; else costs one look at the clock. */
export async function breathe(): Promise<void> {
  if (performance.now() - lastTurnMs < turnMs) return;
  await nextTurn();
  lastTurnMs = performance.now();
}
