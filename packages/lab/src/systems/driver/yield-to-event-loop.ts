/**
 * Lets timers and sockets run. A synchronous library resolves its promises without ever leaving the microtask queue, so
 * the end of a phase would never be noticed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

const turnMs = 8;
let lastTurnMs = 0;

/** Whether the event loop has had no turn for a while: then `yieldToEventLoop` is due. */
export const isTurnDue = (): boolean => performance.now() - lastTurnMs >= turnMs;

/** Yields to the event loop if that is due; otherwise only reads the clock. */
export async function yieldToEventLoop(): Promise<void> {
  if (!isTurnDue()) return;
  await nextTurn();
  lastTurnMs = performance.now();
}
