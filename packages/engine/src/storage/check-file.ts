/** SQLite's own look at all of a file, for those that have no sums of ours. Returns what is wrong, in sentences. */
import { openSqlite, toQueueError } from './sqlite.ts';

const faultsMax = 10;

export function checkFile(path: string): string[] {
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
