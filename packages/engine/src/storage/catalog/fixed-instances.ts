/**
 * Instances of a cluster that have a task alone and keep it, since its data is in their file: once chosen they never change,
 * and they cannot leave the cluster. The SQL instance has the application's tables, the key instance the idempotency keys
 * of clients of the whole cluster.
 */
import type { InstanceId } from '../../model/ids.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';

type Setting = 'sql_instance' | 'key_instance';

/** Undefined while the application has no tables. */
export function readSqlInstance(catalog: SqliteFile): InstanceId | undefined {
  return read(catalog, 'sql_instance');
}

/** Undefined before the first key. */
export function readKeyInstance(catalog: SqliteFile): InstanceId | undefined {
  return read(catalog, 'key_instance');
}

/** Returns the SQL instance: another process may have been first. Undefined if this instance is leaving the cluster. */
export function claimSqlInstance(catalog: SqliteFile, instance: InstanceId): InstanceId | undefined {
  return claim(catalog, 'sql_instance', instance);
}

/** The same for the key instance. */
export function claimKeyInstance(catalog: SqliteFile, instance: InstanceId): InstanceId | undefined {
  return claim(catalog, 'key_instance', instance);
}

function read(catalog: SqliteFile, setting: Setting): InstanceId | undefined {
  return catalog.prepare('SELECT value FROM setting WHERE name = ?').pluck().get(setting) as
    | InstanceId
    | undefined;
}

function claim(catalog: SqliteFile, setting: Setting, instance: InstanceId): InstanceId | undefined {
  catalog
    .prepare(
      `INSERT INTO setting SELECT :setting, :instance
       WHERE NOT EXISTS (SELECT 1 FROM member WHERE instance = :instance AND leaving = 1) ON CONFLICT DO NOTHING`,
    )
    .run({ setting, instance });
  return read(catalog, setting);
}
