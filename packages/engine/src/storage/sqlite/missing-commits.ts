/** Whether a database file still ends with the last commit that was acknowledged: `write-ahead-log.ts`. */
import { existsSync } from 'node:fs';
import { QueueError } from '../../api/errors.ts';
import { isNewFile } from './file-format.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from './open-sqlite.ts';
import { acknowledgedNumberPath, readAcknowledgedNumber } from './write-ahead-log.ts';

export interface FileEnd {
  /** Number of the last commit. */
  number: number;
  /** A part could not be read, in which later commits may be: it reports its damage itself. */
  fullyRead: boolean;
}

interface FileKind {
  /** A commit that somebody else knows of, though the record beside the file may not; default: none. */
  known?: number;
  read(file: SqliteFile): FileEnd;
  /** "change 7" */
  inWords(number: number): string;
}

/**
 * Throws `COMMITS_MISSING` if commits that were acknowledged are not in the file, or the file is gone. Reads over a connection
 * that cannot write, so what is left of the write-ahead log stays as it is for an investigation.
 */
export function assertNoneMissing(path: string, { known = 0, read, inWords }: FileKind): void {
  // Read first: what is acknowledged at this moment must be in the file afterwards.
  const recorded = mapSqliteErrors(path, () => readAcknowledgedNumber(acknowledgedNumberPath(path)));
  const acknowledged = Math.max(recorded ?? 0, known);
  if (acknowledged === 0) return;
  const exists = existsSync(path);
  const { number: found, fullyRead } = exists ? readEnd(path, read) : { number: 0, fullyRead: true };
  if (found >= acknowledged || !fullyRead) return;
  throw new QueueError('COMMITS_MISSING', {
    message: exists
      ? `${path} ends with ${inWords(found)}, but ${inWords(acknowledged)} was acknowledged: its write-ahead log is damaged or missing`
      : `${path} is missing, and ${inWords(acknowledged)} of it was acknowledged`,
    details: { path, found, acknowledged },
  });
}

function readEnd(path: string, read: FileKind['read']): FileEnd {
  const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
  try {
    return mapSqliteErrors(path, () => (isNewFile(file) ? { number: 0, fullyRead: true } : read(file)));
  } finally {
    file.close();
  }
}
