/**
 * The format of the engine's files, kept in SQLite's `user_version` and checked before anything else is read. A file of
 * another format is refused and left untouched: nothing is released yet, so no file is ever brought from one to the next.
 */
import { QueueError } from '../../api/errors.ts';
import { openInMemory, type SqliteFile } from './open-sqlite.ts';

/** Raised with every change to the schema of any file. */
export const formatVersion = 10;

/**
 * Creates the schema in a new file. Throws `STORAGE_FORMAT_OLDER` or `STORAGE_FORMAT_NEWER` for another format, and
 * `STORAGE_CORRUPT` if the definition of a table, index, trigger or view is not what this version writes.
 */
export function prepareFormat(file: SqliteFile, schemaSql: string): void {
  if (!isNewFile(file)) {
    assertSchemaUndamaged(file, schemaSql);
    return;
  }
  file.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have created it in the meantime.
    if (isNewFile(file)) {
      file.exec(schemaSql);
      file.pragma(`user_version = ${formatVersion}`);
    }
    file.exec('COMMIT');
  } catch (error) {
    if (file.inTransaction) file.exec('ROLLBACK');
    throw error;
  }
}

/** True: nothing was written to the file yet. Throws as `prepareFormat`. */
export function isNewFile(file: SqliteFile): boolean {
  const found = file.pragma('user_version', { simple: true }) as number;
  if (found === formatVersion) return false;
  if (found === 0) return true;
  const details = { path: file.name, found, known: formatVersion };
  if (found > formatVersion) {
    throw new QueueError('STORAGE_FORMAT_NEWER', {
      message: `${file.name} was written by a newer version (format ${found}); this version reads format ${formatVersion}`,
      details,
    });
  }
  throw new QueueError('STORAGE_FORMAT_OLDER', {
    message:
      `${file.name} was written by an earlier development version (format ${found}); this version reads format ` +
      `${formatVersion}. Export its messages with the version that wrote it, or start with an empty folder`,
    details,
  });
}

interface SchemaEntry {
  name: string;
  definition: string;
}

const selectSchemaSql = `SELECT name, type || ' ' || tbl_name || ' ' || coalesce(sql, '') AS definition FROM sqlite_schema`;
const expectedSchemas = new Map<string, SchemaEntry[]>();

function schemaOf(schemaSql: string): SchemaEntry[] {
  let entries = expectedSchemas.get(schemaSql);
  if (entries === undefined) {
    const file = openInMemory();
    try {
      file.exec(schemaSql);
      entries = file.prepare(selectSchemaSql).all() as SchemaEntry[];
    } finally {
      file.close();
    }
    expectedSchemas.set(schemaSql, entries);
  }
  return entries;
}

/** SQLite obeys whatever definition it reads: a changed bit in the condition of an index would hide rows. */
export function assertSchemaUndamaged(file: SqliteFile, schemaSql: string): void {
  const found = new Map(
    (file.prepare(selectSchemaSql).all() as SchemaEntry[]).map(({ name, definition }) => [name, definition]),
  );
  for (const { name, definition } of schemaOf(schemaSql)) {
    if (found.get(name) === definition) continue;
    throw new QueueError('STORAGE_CORRUPT', {
      message: `The definition of ${name} in ${file.name} is damaged: it differs from the schema`,
      details: { path: file.name, table: name },
    });
  }
}

/** The names of all tables, indexes, triggers and views of a schema, in lower case. */
export function schemaNamesOf(schemaSql: string): Set<string> {
  return new Set(schemaOf(schemaSql).map(({ name }) => name.toLowerCase()));
}
