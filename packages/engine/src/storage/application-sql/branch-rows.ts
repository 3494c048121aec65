/**
 * The row changes of prepared branches of distributed transactions: the rows as they will be after the commit, captured when the
 * statements ran at the prepare. The commit writes these rows and runs no statement again, so the result cannot differ. It cannot
 * conflict either, because the branch has locked the keys until then (`row-locks.ts`).
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { SqlValue } from '../../api/sql.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import { fromStoredValue, type StoredValue, toStoredValue } from './stored-value.ts';
import type { CapturedRow, TableLayout } from './table-layout.ts';

/** The content of a branch's `rows`, as JSON. */
export interface BranchRows {
  tables: Record<string, Pick<TableLayout, 'identity' | 'identityIsColumn' | 'columns'>>;
  changes: RowChange[];
  /** Keys that no other transaction may write to. */
  keys: string[];
  /** Tables that no other transaction may write to. */
  wholeTables: string[];
}

interface RowChange {
  table: string;
  /** Null: a new row whose hidden rowid is given at the commit. */
  identity: StoredValue[] | null;
  /** Values in the order of the table's columns; null: the row is deleted. */
  values: StoredValue[] | null;
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

const conditionOf = (identity: readonly string[], values?: readonly { expression: string }[]) =>
  identity.map((column, index) => `${quoted(column)} = ${values?.[index]?.expression ?? '?'}`).join(' AND ');

/** The rows that statements have changed, as they are now. Throws `XA_UNSUPPORTED` for too much. */
export function readBranchRows(file: SqliteFile, captured: Iterable<CapturedRow>): BranchRows {
  const rows: BranchRows = { tables: {}, changes: [], keys: [], wholeTables: [] };
  const keys = new Set<string>();
  const wholeTables = new Set<string>();
  for (const { layout, identity, isNew, lockKeys } of captured) {
    const { name, identityIsColumn, columns } = layout;
    rows.tables[name] = { identity: layout.identity, identityIsColumn, columns };
    for (const table of layout.lockedWhole) wholeTables.add(table);
    const values = readRow(file, layout, identity);
    const getsNewRowid = isNew && !identityIsColumn;
    for (const key of lockKeys) keys.add(key);
    if (isNew && values === null) continue; // inserted and deleted again
    const stored = identity.map((value) => toStoredValue(value, typeof value === 'string' ? 'text' : 'blob'));
    rows.changes.push({ table: name, identity: getsNewRowid ? null : stored, values });
  }
  return { ...rows, keys: [...keys], wholeTables: [...wholeTables] };
}

/** Throws `XA_UNSUPPORTED` if the content is too large to be kept. */
export function encodeBranchRows(rows: BranchRows): string {
  const text = JSON.stringify(rows);
  const { xaRowBytesMax: bytesMax } = limits;
  if (text.length <= bytesMax) return text;
  throw new QueueError('XA_UNSUPPORTED', {
    message: 'The rows of a branch are too large to be kept until it ends',
    details: { bytes: text.length, bytesMax },
  });
}

function readRow(file: SqliteFile, { name, identity, columns }: TableLayout, values: readonly SqlValue[]) {
  const selected = columns.map(quoted).map((column) => {
    // As bytes, since a text may have some that are not UTF-8.
    return `CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) ELSE ${column} END, typeof(${column})`;
  });
  const row = file
    .prepare(`SELECT ${selected.join(', ')} FROM main.${quoted(name)} WHERE ${conditionOf(identity)}`)
    .raw()
    .safeIntegers()
    .get(...values) as SqlValue[] | undefined;
  return row === undefined
    ? null
    : columns.map((_, index) => toStoredValue(row[2 * index]!, row[2 * index + 1] as string));
}

/** Writes the rows. */
export function applyBranchRows(file: SqliteFile, rows: BranchRows): void {
  // Tables with foreign keys are locked as a whole. Without any, the pragma is left out: it has SQLite compile all statements again.
  if (rows.wholeTables.length === 0) {
    applyChanges(file, rows);
    return;
  }
  // Rows that refer to each other come one after the other.
  file.exec('PRAGMA defer_foreign_keys = ON');
  try {
    applyChanges(file, rows);
  } finally {
    file.exec('PRAGMA defer_foreign_keys = OFF'); // else those of other transactions would be checked only at the commit of the whole group
  }
}

/** Deletes rows first, so that other rows can take their unique values. */
function applyChanges(file: SqliteFile, { tables, changes }: BranchRows): void {
  for (const change of changes) if (change.values === null) deleteRow(file, tables[change.table]!, change);
  for (const change of changes) if (change.values !== null) putRow(file, tables[change.table]!, change);
}

type Layout = BranchRows['tables'][string];

function deleteRow(file: SqliteFile, { identity: columns }: Layout, { table, identity }: RowChange): void {
  const own = identity!.map(fromStoredValue);
  file
    .prepare(`DELETE FROM main.${quoted(table)} WHERE ${conditionOf(columns, own)}`)
    .run(...own.map(({ value }) => value));
}

function putRow(file: SqliteFile, layout: Layout, { table, identity, values }: RowChange): void {
  const bound = values!.map(fromStoredValue);
  const own = identity?.map(fromStoredValue) ?? [];
  if (identity !== null) {
    const set = bound.map(({ expression }, index) => `${quoted(layout.columns[index]!)} = ${expression}`);
    const { changes } = file
      .prepare(
        `UPDATE main.${quoted(table)} SET ${set.join(', ')}
         WHERE ${conditionOf(layout.identity, own)}`,
      )
      .run(...[...bound, ...own].map(({ value }) => value));
    if (changes > 0) return;
  }
  const withRowid = identity !== null && !layout.identityIsColumn;
  const columns = [...(withRowid ? layout.identity : []), ...layout.columns];
  const inserted = [...(withRowid ? own : []), ...bound];
  file
    .prepare(
      `INSERT INTO main.${quoted(table)} (${columns.map(quoted).join(', ')})
       VALUES (${inserted.map(({ expression }) => expression).join(', ')})`,
    )
    .run(...inserted.map(({ value }) => value));
}

/** Whether the rows that can be found have the state in which the branch leaves them. */
export function areApplied(file: SqliteFile, captured: Iterable<CapturedRow>, expected: BranchRows): boolean {
  const found = readBranchRows(file, captured).changes;
  return JSON.stringify(found.filter(hasIdentity)) === JSON.stringify(expected.changes.filter(hasIdentity));
}

const hasIdentity = ({ identity }: RowChange) => identity !== null;
