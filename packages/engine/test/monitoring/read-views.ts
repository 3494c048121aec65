/** Reads views of a file as anyone with SQLite's shell does: by a second connection that cannot write. */
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

/** The rows by some columns, each as an object of others. */
export function pick(rows: readonly ViewRow[], ...columns: string[]): ViewRow[] {
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]!])));
}
