/** The SQL instance: the one of the cluster whose file holds the application's tables. Once chosen it never changes. */
import type { SqliteFile } from '../sqlite/open-sqlite.ts';

/** Undefined while the application has no tables. */
export function readSqlInstance(catalog: SqliteFile): number | undefined {
  return catalog.prepare("SELECT value FROM setting WHERE name = 'sql_instance'").pluck().get() as
    | number
    | undefined;
}

/** Returns the SQL instance: another process may have been first. Undefined if this instance is leaving the cluster. */
export function claimSqlInstance(catalog: SqliteFile, instance: number): number | undefined {
  catalog
    .prepare(
      `INSERT INTO setting SELECT 'sql_instance', :instance
       WHERE NOT EXISTS (SELECT 1 FROM member WHERE instance = :instance AND leaving = 1) ON CONFLICT DO NOTHING`,
    )
    .run({ instance });
  return readSqlInstance(catalog);
}
