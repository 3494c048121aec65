/** The catalog's file: one for all processes of a cluster, with its queues, members and hosts. */
import { join } from 'node:path';
import { QueueError } from '../../api/errors.ts';
import { prepareFormat } from '../sqlite/file-format.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from '../sqlite/open-sqlite.ts';
import { makeFolder } from '../sqlite/sync-folder.ts';
import { conversionTableSql } from './conversion-table.ts';
import { membershipTablesSql } from './membership-schema.ts';
import { queueTableSql } from './queue-table.ts';
import { subscriberTablesSql } from './subscriber-table.ts';

const schemaSql = `
  ${queueTableSql}
  CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT;
  ${subscriberTablesSql}
  ${conversionTableSql}
  ${membershipTablesSql}
`;

export function catalogPath(dir: string): string {
  return join(dir, 'catalog.db');
}

/** Opens or creates the file and its folder. `busyMs`: wait for another process's change, which blocks the thread. */
export function openCatalogFile(dir: string, busyMs: number): SqliteFile {
  const path = catalogPath(dir);
  try {
    makeFolder(dir);
  } catch (error) {
    throw new QueueError('STORAGE_READ_ONLY', { details: { path: dir }, cause: error });
  }
  const file = openSqlite({ path, busyMs });
  try {
    mapSqliteErrors(path, () => prepareFormat(file, schemaSql));
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}
