/**
 * The format of the engine's files, kept in SQLite's `user_version` and checked before anything else is read. A file of
 * another format is refused and left untouched: nothing is released yet, so no file is ever brought from one to the next.
 */
import { QueueError } from '../../api/errors.ts';
import { openInMemory, type SqliteFile } from './open-sqlite.ts';

/** Raised with every change to the schema of any file. */
export const formatVersion = 5;

/** Creates the schema in a new file. Throws `STORAGE_FORMAT_OLDER` or `STORAGE_FORMAT_NEWER` for another format. */
export function prepareFormat(file: SqliteFile, schemaSql: string): void {
  if (!isNewFile(file)) return;
  file.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have created it meanwhile.
    if (isNewFile(file)) {
      file.exec(schemaSql);
      file.pragma(`user_version = ${formatVersion}`);
    }
    file.exec('COMMIT');
  } catch (error) {
    if (file.inTransaction) file.exec('ROLLBACK');
    throw error;
  }
}

/** True: nothing was written to the file yet. Throws as `prepareFormat`. */
export function isNewFile(file: SqliteFile): boolean {
  const found = file.pragma('user_version', { simple: true }) as number;
  if (found === formatVersion) return false;
  if (found === 0) return true;
  const details = { path: file.name, found, known: formatVersion };
  if (found > formatVersion) {
    throw new QueueError('STORAGE_FORMAT_NEWER', {
      message: `${file.name} was written by a newer version (format ${found}); this version reads format ${formatVersion}`,
      details,
    });
  }
  throw new QueueError('STORAGE_FORMAT_OLDER', {
    message:
      `${file.name} was written by an earlier development version (format ${found}); this version reads format ` +
      `${formatVersion}. Export its messages with the version that wrote it, or start with an empty folder`,
    details,
  });
}

/** The names of all tables, indexes and views of a schema, in lower case. */
export function schemaNamesOf(schemaSql: string): Set<string> {
  const file = openInMemory();
  try {
    file.exec(schemaSql);
    return new Set(file.prepare('SELECT lower(name) FROM sqlite_schema').pluck().all() as string[]);
  } finally {
    file.close();
  }
}
