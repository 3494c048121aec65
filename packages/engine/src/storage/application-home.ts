/** Which instance's file holds the tables of the application: one of the cluster, and for good. A setting of the catalog. */
import type { SqliteFile } from './sqlite.ts';

/** Undefined as long as there are none. */
export function readApplicationHome(catalog: SqliteFile): number | undefined {
  return catalog.prepare("SELECT value FROM setting WHERE name = 'application_home'").pluck().get() as
    | number
    | undefined;
}

/** Returns which one it is: another process may have been first. None if the instance is about to leave the cluster. */
export function claimApplicationHome(catalog: SqliteFile, instance: number): number | undefined {
  catalog
    .prepare(
      `INSERT INTO setting SELECT 'application_home', :instance
       WHERE NOT EXISTS (SELECT 1 FROM member WHERE instance = :instance AND leaving = 1) ON CONFLICT DO NOTHING`,
    )
    .run({ instance });
  return readApplicationHome(catalog);
}
