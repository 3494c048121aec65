/**
 * The identifying columns and the unique keys of an application's table: the keys under which rows of a prepared branch are
 * locked (`row-locks.ts`).
 */
import type { SqlValue } from '../../api/sql.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';

export interface TableLayout {
  name: string;
  /** Columns that identify a row: an alias of its rowid, or the primary key of a table that has none. */
  identity: readonly string[];
  /** The identity is a column of the table, and not a hidden rowid. */
  identityIsColumn: boolean;
  /** All stored columns; generated columns follow from them. */
  columns: readonly string[];
  /** The columns of each other key that is unique. */
  uniqueKeys: readonly (readonly string[])[];
  /**
   * Tables that are locked as a whole when a row of this one changes, because its keys do not show which of their rows are
   * affected.
   */
  lockedWhole: readonly string[];
}

/** A row that a branch's statements have written to. */
export interface CapturedRow {
  layout: TableLayout;
  identity: SqlValue[];
  /** It was not there before. */
  isNew: boolean;
  lockKeys: Set<string>;
}

interface ColumnRow {
  name: string;
  type: string;
  /** Position in the primary key, from 1; 0: not part of it. */
  pk: number;
  /** 0: an ordinary column; 2, 3: generated. */
  hidden: number;
}

interface IndexRow {
  name: string;
  isUnique: number;
  /** `c`: created by itself; `u`: of a UNIQUE constraint; `pk`: of the primary key. */
  origin: string;
  partial: number;
}

interface KeyColumnRow {
  /** Null for an expression. */
  name: string | null;
  coll: string;
}

export function readTableLayout(file: SqliteFile, table: string): TableLayout {
  const all = file
    .prepare('SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)')
    .all(table) as ColumnRow[];
  const columns = all.filter(({ hidden }) => hidden === 0).map(({ name }) => name);
  const withoutRowid = file
    .prepare("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?")
    .pluck()
    .get(table);
  const indexes = file
    .prepare('SELECT name, "unique" AS isUnique, origin, partial FROM pragma_index_list(?)')
    .all(table) as IndexRow[];
  const unique = indexes.filter(({ isUnique }) => isUnique === 1);
  const keys = unique.map((index) => ({ ...index, columns: plainKeyOf(file, index, columns) }));
  const primary = all.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  const ofPrimary = keys.find(({ origin }) => origin === 'pk');
  let identity: readonly string[];
  let identityIsColumn = true;
  if (withoutRowid === 1) identity = primary.map(({ name }) => name);
  else if (ofPrimary === undefined && primary.length === 1) identity = [primary[0]!.name];
  else {
    identity = rowidAliasOf(columns);
    identityIsColumn = false;
  }
  const related = relatedTables(file, table);
  const others = withoutRowid === 1 ? keys.filter((key) => key !== ofPrimary) : keys;
  const isPlain = keys.every((key) => key.columns !== undefined) && identity.length > 0;
  return {
    name: table,
    identity,
    identityIsColumn,
    columns,
    uniqueKeys: isPlain ? others.map((key) => key.columns!) : [],
    lockedWhole: related.length > 0 ? [...new Set([table, ...related])] : isPlain ? [] : [table],
  };
}

/** The columns of an index, if equal values are equal keys for us as for SQLite; undefined otherwise. */
function plainKeyOf(
  file: SqliteFile,
  { name, partial }: IndexRow,
  columns: readonly string[],
): string[] | undefined {
  const key = file
    .prepare('SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1')
    .all(name) as KeyColumnRow[];
  const isPlain = key.every(
    (each) => each.name !== null && columns.includes(each.name) && each.coll === 'BINARY',
  );
  return partial === 0 && isPlain ? key.map((each) => each.name!) : undefined;
}

/** None if columns have taken all names of the rowid: the row cannot be named. */
function rowidAliasOf(columns: readonly string[]): string[] {
  const taken = new Set(columns.map((column) => column.toLowerCase()));
  return ['rowid', '_rowid_', 'oid'].filter((alias) => !taken.has(alias)).slice(0, 1);
}

/**
 * The tables that its foreign keys refer to, and those whose foreign keys refer to it; includes the table itself if it refers to
 * itself.
 */
function relatedTables(file: SqliteFile, table: string): string[] {
  const pairs = file
    .prepare(
      `SELECT child.name AS child, parent.name AS parent
       FROM sqlite_schema AS child
       JOIN pragma_foreign_key_list(child.name) AS foreign_key
       JOIN sqlite_schema AS parent
         ON parent.type = 'table' AND parent.name = foreign_key."table" COLLATE NOCASE
       WHERE child.type = 'table' AND ? COLLATE NOCASE IN (child.name, parent.name)`,
    )
    .all(table) as { child: string; parent: string }[];
  const others = pairs.flatMap(({ child, parent }) => [child, parent]);
  return [...new Set(others)];
}
