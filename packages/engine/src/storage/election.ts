/** Elects one process among several of a folder: who has the lock on a small file of its own does what is to be done once. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { QueueError } from '../core/errors.ts';
import { openSqlite } from './sqlite.ts';

const retryMs = 5;
const giveUpMs = 5_000;

/** Runs `work` while no other process, and no other caller in this one, runs one. Throws `STORAGE_FAILED` after 5 s. */
export async function electIn<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const file = openSqlite({ path: join(dir, 'election.db'), busyMs: 1_000 });
  try {
    file.pragma('busy_timeout = 0'); // a wait inside SQLite would stop the very process that is waited for
    const until = performance.now() + giveUpMs;
    while (!tryBegin(file)) {
      if (performance.now() > until)
        throw new QueueError('STORAGE_FAILED', { sentence: `${file.name} stays locked` });
      await pause(retryMs);
    }
    return await work();
  } finally {
    file.close();
  }
}

function tryBegin(file: Database.Database): boolean {
  try {
    file.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}
