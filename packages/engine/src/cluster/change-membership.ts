/** Changes of the catalog by processes that serve sessions: they come again rather than wait inside SQLite. */
import { setTimeout as pause } from 'node:timers/promises';
import { isBusy } from '../storage/sqlite.ts';

/** Another process is making a change: such changes are short. */
const busyRetryMs = 5;
/** The disk is full, or worse. */
const failedRetryMs = 250;

/** Makes the change once no other process makes one. Throws what the change throws. */
export async function changeMembership<T>(change: () => T): Promise<T> {
  for (;;) {
    try {
      return change();
    } catch (error) {
      if (!isBusy(error)) throw error;
      await pause(busyRetryMs);
    }
  }
}

/**
 * Ends a claim, however long it takes: until then the caller keeps its lease, so that nobody takes this process for dead
 * and ends it for an instance that it has closed.
 */
export async function endClaim(change: () => void): Promise<void> {
  for (;;) {
    try {
      return await changeMembership(change);
    } catch {
      await pause(failedRetryMs);
    }
  }
}
