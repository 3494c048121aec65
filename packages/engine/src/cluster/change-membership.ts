/** Changes of the catalog by processes that serve sessions: they retry later instead of blocking the thread in SQLite. */
import { pause } from '../model/pause.ts';
import type { Timers } from '../model/ports.ts';
import { isBusy } from '../storage/sqlite/open-sqlite.ts';

/** Pause while another process makes a change, milliseconds; such changes are short. */
const busyRetryMs = 5;
/** Pause after another failure of the storage, milliseconds. */
const failedRetryMs = 250;

/** Makes the change when no other process is making one. Throws what the change throws. */
export async function changeMembership<T>(timers: Timers, change: () => T): Promise<T> {
  for (;;) {
    try {
      return change();
    } catch (error) {
      if (!isBusy(error)) throw error;
      await pause(timers, busyRetryMs);
    }
  }
}

/**
 * Ends a claim, however long it takes. Until then the caller must keep its lease: otherwise another process would consider
 * this one dead and kill it for an instance that is already closed.
 */
export async function endClaim(timers: Timers, change: () => void): Promise<void> {
  for (;;) {
    try {
      return await changeMembership(timers, change);
    } catch {
      await pause(timers, failedRetryMs);
    }
  }
}
