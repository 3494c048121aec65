/** Reads views of a file like a user of SQLite's shell: over a second connection, which cannot write. */
import { join } from 'node:path';
import Database from 'better-sqlite3';

export type ViewRow = Record<string, number | string | null>;

export function readView(dir: string, view: string, file = 'instance-1.db'): ViewRow[] {
  const db = new Database(join(dir, file), { readonly: true });
  try {
    return db.prepare(`SELECT * FROM ${view}`).all() as ViewRow[];
  } finally {
    db.close();
  }
}

/** The rows with only the given columns. */
export function pick(rows: readonly ViewRow[], ...columns: string[]): ViewRow[] {
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]!])));
}
