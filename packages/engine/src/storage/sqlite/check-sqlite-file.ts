/** SQLite's integrity check, for files without checksums of ours. Returns the damage in sentences. */
import { openSqlite, toQueueError } from './open-sqlite.ts';

const faultsMax = 10;

export function checkSqliteFile(path: string): string[] {
  try {
    const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
    try {
      const rows = file.pragma(`integrity_check(${faultsMax})`) as { integrity_check: string }[];
      return rows
        .map((row) => row.integrity_check)
        .filter((verdict) => verdict !== 'ok')
        .map((verdict) => `${path}: ${verdict}`);
    } finally {
      file.close();
    }
  } catch (error) {
    return [`${path}: ${toQueueError(error, path).message}`];
  }
}
