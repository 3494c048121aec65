/** Mutual exclusion between processes of a folder by a lock on a small file, for what must be done once. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { QueueError } from '../../api/errors.ts';
import { pause } from '../../model/pause.ts';
import type { Timers } from '../../model/ports.ts';
import { makePrivate } from '../private-files.ts';
import { isBusy, mapSqliteErrors, toQueueError } from './open-sqlite.ts';

const retryMs = 5;
const lockWaitMsMax = 5_000;

/** Runs `work` while no other process, and no other caller in this one, runs any. Throws `STORAGE_FAILED` after 5 s. */
export async function withFolderLock<T>(dir: string, timers: Timers, work: () => Promise<T>): Promise<T> {
  const name = 'election.db';
  const lock = await waitForFolderLock(dir, name, timers);
  if (lock === undefined)
    throw new QueueError('STORAGE_FAILED', { message: `${join(dir, name)} stays locked` });
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** Undefined if somebody else still has the lock after 5 s. */
export async function waitForFolderLock(
  dir: string,
  name: string,
  timers: Timers,
): Promise<FolderLock | undefined> {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    const lock = tryFolderLock(dir, name);
    if (lock !== undefined || waitedMs >= lockWaitMsMax) return lock;
    await pause(timers, retryMs);
  }
}

/** The system releases it when the process ends, however it ends. */
export interface FolderLock {
  release(): void;
}

/**
 * Locks a file of the folder, which is created and stays empty. Undefined if another process, or another caller in this one,
 * has the lock.
 */
export function tryFolderLock(dir: string, name: string): FolderLock | undefined {
  const path = join(dir, name);
  // Nothing is written to the file, so it needs no log. Waiting inside SQLite would block the thread of the lock's holder.
  const file = mapSqliteErrors(path, () => new Database(path, { timeout: 0 }));
  try {
    makePrivate(path);
    file.exec('BEGIN EXCLUSIVE');
    return { release: () => void file.close() };
  } catch (error) {
    file.close();
    if (isBusy(error)) return undefined;
    throw toQueueError(error, path);
  }
}
