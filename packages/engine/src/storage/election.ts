/** Elects one process among several of a folder: who has the lock on a small file of its own does what is to be done once. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { QueueError } from '../core/errors.ts';
import { isBusy, mapSqliteErrors, toQueueError } from './sqlite.ts';

const retryMs = 5;
const giveUpMs = 5_000;

/** Runs `work` while no other process, and no other caller in this one, runs one. Throws `STORAGE_FAILED` after 5 s. */
export async function electIn<T>(dir: string, work: () => Promise<T>): Promise<T> {
  // Nothing is ever written to it, so it needs no log; and a wait inside SQLite would stop the one that is waited for.
  const path = join(dir, 'election.db');
  const file = mapSqliteErrors(path, () => new Database(path, { timeout: 0 }));
  try {
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
    file.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw toQueueError(error, file.name);
  }
}
