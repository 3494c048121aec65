/**
 * Counts the messages left in a NATS stream. The count falls only a moment after the servers have confirmed that a message is
 * consumed.
 */
import { setTimeout as pause } from 'node:timers/promises';

const settleMs = 1_000;

/** Counts until nothing has left for a second. */
export async function settledCount(count: () => Promise<number>): Promise<number> {
  for (let last = await count(); ; ) {
    if (last === 0) return 0;
    await pause(settleMs);
    const now = await count();
    if (now >= last) return now;
    last = now;
  }
}
