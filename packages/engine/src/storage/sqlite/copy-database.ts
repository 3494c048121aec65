/** Copies a database that others may be writing to, as of one moment. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { makePrivate } from '../private-files.ts';
import { mapSqliteErrors, openSqlite } from './open-sqlite.ts';

/** `to` must not exist; durable when this returns, but for its name. SQLite reads all of it in one transaction. */
export function copyDatabase(from: string, to: string): void {
  const file = openSqlite({ path: from, readonly: true, busyMs: 1_000 });
  try {
    mapSqliteErrors(from, () => file.prepare('VACUUM INTO ?').run(to));
  } finally {
    file.close();
  }
  makePrivate(to);
  const descriptor = openSync(to, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
