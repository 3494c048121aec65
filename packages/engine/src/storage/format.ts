/** The format version in each file, kept in SQLite's own header field: checked before anything else is read. */
import { QueueError } from '../core/errors.ts';
import { openInMemory, type SqliteFile } from './sqlite.ts';

/** SQL, or what SQL alone cannot say. */
export type FormatStep = string | ((file: SqliteFile) => void);

/**
 * Brings a file up to its newest format: step `i` leads from version `i` to `i + 1`, so a new file takes all of them.
 * A step that a release has written files with never changes again. After step 3 new tables of an instance's file are called
 * `shardlab_…`, a name that no application can have given to one of its own. Refuses a file that a newer version wrote, and
 * leaves it untouched. Throws `STORAGE_FORMAT_NEWER`.
 */
export function migrate(file: SqliteFile, steps: readonly FormatStep[]): void {
  const known = steps.length;
  const found = versionOf(file);
  if (found > known)
    throw new QueueError('STORAGE_FORMAT_NEWER', { details: { path: file.name, found, known } });
  if (found === known) return;
  file.exec('BEGIN IMMEDIATE');
  try {
    const from = versionOf(file); // another process may have been first
    for (const step of steps.slice(from)) {
      if (typeof step === 'string') file.exec(step);
      else step(file);
    }
    if (from < known) file.pragma(`user_version = ${known}`);
    file.exec('COMMIT');
  } catch (error) {
    if (file.inTransaction) file.exec('ROLLBACK');
    throw error;
  }
}

/** The names of all that a new file has, in lower case. */
export function namesOf(steps: readonly FormatStep[]): Set<string> {
  const file = openInMemory();
  try {
    migrate(file, steps);
    return new Set(file.prepare('SELECT lower(name) FROM sqlite_schema').pluck().all() as string[]);
  } finally {
    file.close();
  }
}

function versionOf(file: SqliteFile): number {
  return file.pragma('user_version', { simple: true }) as number;
}
