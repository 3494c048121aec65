/** Looks for damage in a file that may be in use: what is found, as sentences that name the file. */
import { existsSync, statSync } from 'node:fs';
import { isNewFile } from './file-format.ts';
import { openSqlite, type SqliteFile, toQueueError } from './open-sqlite.ts';

/** Never throws: an error is a fault. */
export function faultsOf(path: string, find: () => string[]): string[] {
  try {
    return find().map((fault) => (fault.includes(path) ? fault : `${path}: ${fault}`));
  } catch (error) {
    const { message } = toQueueError(error, path);
    return [message.includes(path) ? message : `${path}: ${message}`];
  }
}

/** The same with the file opened to read from one snapshot, which ends with the call. A file without tables has no faults. */
export function faultsInSnapshot(path: string, find: (file: SqliteFile) => string[]): string[] {
  return faultsOf(path, () => {
    const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
    try {
      if (isNewFile(file)) return [];
      file.exec('BEGIN');
      return find(file);
    } finally {
      file.close();
    }
  });
}

/** Size of a file and its write-ahead log; 0 if there is no file. */
export function storedBytes(path: string): number {
  const parts = [path, `${path}-wal`].filter((part) => existsSync(part));
  return parts.reduce((sum, part) => sum + statSync(part).size, 0);
}
