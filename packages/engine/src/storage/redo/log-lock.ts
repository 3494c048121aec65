/**
 * The lock of an instance's redo log, held for as long as its files may be written to: the epoch in the tables cannot keep a process
 * that lost the instance from writing to the files of the log. The system ends it with the process. Nothing else may open the lock's
 * file, not even to read it: when a process closes any descriptor of a file, it loses its locks on that file (`fcntl`).
 */
import { basename, dirname } from 'node:path';
import { QueueError } from '../../api/errors.ts';
import type { Timers } from '../../model/ports.ts';
import { type FolderLock, tryFolderLock, waitForFolderLock } from '../sqlite/folder-lock.ts';

/** `instance-1.db` has `instance-1.lock`. */
export const lockPath = (databasePath: string): string => databasePath.replace(/\.db$/, '.lock');

const lockName = (databasePath: string): string => basename(lockPath(databasePath));

/** Waits for a process that was killed to be gone. Throws `INSTANCE_IN_USE` after 5 s. */
export async function lockLog(databasePath: string, timers: Timers): Promise<FolderLock> {
  const lock = await waitForFolderLock(dirname(databasePath), lockName(databasePath), timers);
  return lock ?? refuse(databasePath);
}

/** Throws `INSTANCE_IN_USE` if somebody has the lock now. */
export function lockIdleLog(databasePath: string): FolderLock {
  return tryFolderLock(dirname(databasePath), lockName(databasePath)) ?? refuse(databasePath);
}

function refuse(path: string): never {
  const message = `Another process still has the redo log of ${path} open`;
  throw new QueueError('INSTANCE_IN_USE', { message, details: { path } });
}
