/** A real failure of the writer that passes: another connection holds the file's lock. */
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** While `work` runs, no group can be written: the writer gives up after its own time-out. */
export async function whileLocked(dir: string, work: () => Promise<void>): Promise<void> {
  const other = new Database(join(dir, 'instance-1.db'));
  other.exec('BEGIN IMMEDIATE');
  try {
    await work();
  } finally {
    other.close();
  }
}
