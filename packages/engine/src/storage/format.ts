/** The format version in each file, kept in SQLite's own header field: checked before anything else is read. */
import { QueueError } from '../core/errors.ts';
import type { SqliteFile } from './sqlite.ts';

export const formatVersion = 1;

/** Applies `schema` to a new file; refuses one that a newer version wrote, and leaves it untouched. */
export function migrate(file: SqliteFile, schema: string): void {
  const found = file.pragma('user_version', { simple: true }) as number;
  if (found > formatVersion) {
    throw new QueueError('STORAGE_FORMAT_NEWER', {
      details: { path: file.name, found, known: formatVersion },
    });
  }
  if (found === formatVersion) return;
  file.exec('BEGIN IMMEDIATE');
  try {
    if ((file.pragma('user_version', { simple: true }) as number) === 0) {
      file.exec(schema);
      file.pragma(`user_version = ${formatVersion}`);
    }
    file.exec('COMMIT');
  } catch (error) {
    if (file.inTransaction) file.exec('ROLLBACK');
    throw error;
  }
}
