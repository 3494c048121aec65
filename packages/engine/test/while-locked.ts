/** A temporary but real failure of the writer: another connection holds the file's lock. */
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** No group can be written while `work` runs: the writer gives up after its own time-out. */
export async function whileLocked(dir: string, work: () => Promise<void>): Promise<void> {
  const other = new Database(join(dir, 'instance-1.db'));
  other.exec('BEGIN IMMEDIATE');
  try {
    await work();
  } finally {
    other.close();
  }
}
