/** Mutual exclusion between processes of a folder by a lock on a small file, for what must be done once. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { QueueError } from '../../api/errors.ts';
import type { Timers } from '../../model/ports.ts';
import { makePrivate } from '../private-files.ts';
import { isBusy, mapSqliteErrors, toQueueError } from './open-sqlite.ts';

const retryMs = 5;
const lockWaitMsMax = 5_000;

/** Runs `work` while no other process, and no other caller in this one, runs any. Throws `STORAGE_FAILED` after 5 s. */
export async function withFolderLock<T>(dir: string, timers: Timers, work: () => Promise<T>): Promise<T> {
  // Nothing is written to the file, so it needs no log. Waiting inside SQLite would block the thread of the lock's holder.
  const path = join(dir, 'election.db');
  const file = mapSqliteErrors(path, () => new Database(path, { timeout: 0 }));
  try {
    makePrivate(path);
    for (let waitedMs = 0; !tryLock(file); waitedMs += retryMs) {
      if (waitedMs >= lockWaitMsMax)
        throw new QueueError('STORAGE_FAILED', { message: `${file.name} stays locked` });
      await new Promise<void>((resume) => timers.deadline(retryMs, resume));
    }
    return await work();
  } finally {
    file.close();
  }
}

function tryLock(file: Database.Database): boolean {
  try {
    file.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw toQueueError(error, file.name);
  }
}
