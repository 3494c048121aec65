/**
 * Row locks of prepared branches: until a branch ends, no other transaction writes to the rows that it changes, nor takes a
 * unique value that it assigns or frees. The locks are derived from the rows of `xa_branch` in the file, so they survive
 * restarts.
 *
 * Temporary triggers on the tables concerned call a function with the keys of each row that any statement writes to, cascades
 * included. A row has several keys: the value that identifies it, and each of its unique values. Where keys do not suffice
 * (foreign keys, unique indexes on expressions, in part or with collations) whole tables are locked.
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { SqlValue } from '../../api/sql.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import type { BranchRows } from './branch-rows.ts';
import { guardTriggerPrefix, touchFunction } from './sql-program.ts';
import { keyPart } from './stored-value.ts';
import type { CapturedRow, TableLayout } from './table-layout.ts';

/** A row is about to be written to, or has been. Its locks are checked before its constraints. */
type Touched = (typeof touches)[number];
const touches = ['inserting', 'updating', 'deleting', 'inserted', 'updated', 'deleted'] as const;
const eventOf = {
  inserting: 'BEFORE INSERT',
  updating: 'BEFORE UPDATE',
  deleting: 'BEFORE DELETE',
  inserted: 'AFTER INSERT',
  updated: 'AFTER UPDATE',
  deleted: 'AFTER DELETE',
} as const satisfies Record<Touched, string>;

/** Stands for a rowid that SQLite has not assigned yet, before the row is inserted. */
const rowidNotDrawn = -1n;

interface Locked extends Pick<BranchRows, 'keys' | 'wholeTables'> {
  /** Tables of which it has locked anything. */
  tables: ReadonlySet<string>;
}

export class RowLocks {
  readonly #file: SqliteFile;
  /** The branch that has locked a key, by its xid's key. */
  readonly #holders = new Map<string, string>();
  /** Locks by branch. */
  readonly #locked = new Map<string, Locked>();
  readonly #wholeTables = new Map<string, string>();
  /** The branches that have locked rows of each table. */
  readonly #branchesOf = new Map<string, Set<string>>();
  /** Tables with triggers, and the layouts for which those were made. */
  readonly #guarded = new Map<string, TableLayout>();
  /** Captured rows by table and identity, in the order of their first write; undefined unless a branch is being prepared. */
  #captured: Map<string, CapturedRow> | undefined;
  #suspended = false;

  constructor(file: SqliteFile) {
    this.#file = file;
    file.pragma('recursive_triggers = ON'); // or REPLACE would delete rows without a trigger
    file.function(touchFunction, { varargs: true, safeIntegers: true }, (table, touched, ...values) => {
      this.#onTouched(this.#guarded.get(table as string), touched as Touched, values as SqlValue[]);
      return null;
    });
  }

  get isEmpty(): boolean {
    return this.#locked.size === 0;
  }

  add(branch: string, rows: BranchRows): void {
    const { keys, wholeTables } = rows;
    const tables = new Set([...Object.keys(rows.tables), ...wholeTables]);
    this.#locked.set(branch, { keys, wholeTables, tables });
    for (const key of keys) this.#holders.set(key, branch);
    for (const table of wholeTables) this.#wholeTables.set(table, branch);
    for (const table of tables) {
      const branches = this.#branchesOf.get(table);
      if (branches === undefined) this.#branchesOf.set(table, new Set([branch]));
      else branches.add(branch);
    }
  }

  release(branch: string): void {
    const locked = this.#locked.get(branch);
    if (locked === undefined) return;
    this.#locked.delete(branch);
    for (const key of locked.keys) this.#holders.delete(key);
    for (const table of locked.wholeTables) this.#wholeTables.delete(table);
    for (const table of locked.tables) this.#branchesOf.get(table)?.delete(branch);
  }

  /** Removes all locks, because a rollback may have undone their branches; they must be added again from the file. */
  clear(): void {
    this.#holders.clear();
    this.#locked.clear();
    this.#wholeTables.clear();
    this.#branchesOf.clear();
    this.#guarded.clear();
  }

  /** Throws `XA_UNSUPPORTED` if prepared branches would have too many keys in memory. */
  assertCanKeep({ keys }: BranchRows): void {
    const { lockedKeysMax } = limits;
    if (this.#holders.size + keys.length <= lockedKeysMax) return;
    throw unsupported(`Prepared branches would have locked over ${lockedKeysMax} keys of rows`, {
      lockedKeysMax,
    });
  }

  /** Call it before a statement that writes to these tables. Throws `SQL_LOCKED`. */
  assertTablesFree(tables: Iterable<string>): void {
    for (const table of tables) {
      const branch = this.#wholeTables.get(table);
      if (branch !== undefined) throw lockedError(table, branch);
    }
  }

  /** Call it before tables are locked as a whole. Throws `SQL_LOCKED` if any row of one is locked. */
  assertUntouched(tables: Iterable<string>): void {
    for (const table of tables) {
      const [branch] = this.#branchesOf.get(table) ?? [];
      if (branch !== undefined) throw lockedError(table, branch);
    }
  }

  /** Call it before a change of the schema, which must find no lock and no trigger. Throws `SQL_LOCKED`. */
  prepareSchemaChange(): void {
    const [branch] = this.#locked.keys();
    if (branch !== undefined) throw lockedError('the schema', branch);
    const triggers = this.#file.prepare("SELECT name FROM temp.sqlite_schema WHERE type = 'trigger'").pluck();
    for (const trigger of triggers.all() as string[])
      this.#file.exec(`DROP TRIGGER temp."${trigger.replaceAll('"', '""')}"`);
    this.#guarded.clear();
  }

  /** Whether writes to the table are seen. */
  isGuarded(table: string): boolean {
    return this.#guarded.has(table);
  }

  /** From now on writes to the table are observed. Do not call it inside a savepoint that may be rolled back. */
  guard(layout: TableLayout): void {
    const { name, identity, uniqueKeys } = layout;
    const columns = [...identity, ...uniqueKeys.flat()].map((column) => `"${column.replaceAll('"', '""')}"`);
    const values = (of: 'OLD' | 'NEW') => columns.map((column) => `${of}.${column}`);
    const table = `"${name.replaceAll('"', '""')}"`;
    for (const touched of touches) {
      const event = eventOf[touched];
      const versions = [
        ...(event.endsWith('INSERT') ? [] : values('OLD')),
        ...(event.endsWith('DELETE') ? [] : values('NEW')),
      ];
      this.#file.exec(
        `CREATE TEMP TRIGGER IF NOT EXISTS ${triggerName(touched, name)} ${event} ON main.${table}
         BEGIN SELECT ${touchFunction}('${name.replaceAll("'", "''")}', '${touched}', ${versions.join(', ')}); END`,
      );
    }
    this.#guarded.set(name, layout);
  }

  /** The rows that `run` writes to. Throws what it throws, `SQL_LOCKED`, and `XA_UNSUPPORTED` if they are too many. */
  capture(run: () => void): CapturedRow[] {
    const captured = new Map<string, CapturedRow>();
    this.#captured = captured;
    try {
      run();
    } finally {
      this.#captured = undefined;
    }
    return [...captured.values()];
  }

  /** Writes rows whose locks are the branch's own. */
  withoutChecks(run: () => void): void {
    this.#suspended = true;
    try {
      run();
    } finally {
      this.#suspended = false;
    }
  }

  #onTouched(layout: TableLayout | undefined, touched: Touched, values: SqlValue[]): void {
    if (layout === undefined) return; // the trigger was kept although no row of the table is locked any more
    if (this.#suspended || (this.#captured === undefined && this.isEmpty)) return;
    const width = layout.identity.length + layout.uniqueKeys.flat().length;
    const versions = values.length === 2 * width ? [values.slice(0, width), values.slice(width)] : [values];
    if (touched === 'inserted' || touched.endsWith('ing')) {
      const keys = versions.flatMap((version) => keysOf(layout, version));
      const isDrawn = touched !== 'inserting' || values[0] !== rowidNotDrawn;
      this.#assertKeysFree(layout, isDrawn ? keys : keys.slice(1));
    }
    if (this.#captured === undefined || touched.endsWith('ing')) return;
    this.#captureRow(layout, versions[0]!, touched === 'inserted');
    const [first, second] = versions.map((version) => keysOf(layout, version)[0]!);
    if (second !== undefined) this.#captureRow(layout, versions[1]!, first !== second);
  }

  #assertKeysFree({ name }: TableLayout, keys: readonly string[]): void {
    for (const key of keys) {
      const branch = this.#holders.get(key);
      if (branch !== undefined) throw lockedError(name, branch);
    }
  }

  #captureRow(layout: TableLayout, version: SqlValue[], isNew: boolean): void {
    const captured = this.#captured!;
    const identity = version.slice(0, layout.identity.length);
    if (version.some((value) => typeof value === 'string' && value.includes('\uFFFD')))
      throw unsupported(
        'A branch that changes a row whose key has U+FFFD, or is no valid text, cannot be prepared',
      );
    const keys = keysOf(layout, version);
    const row = captured.get(keys[0]!) ?? { layout, identity, isNew, lockKeys: new Set<string>() };
    captured.set(keys[0]!, row);
    // No other transaction can refer to a row by a rowid that is not assigned yet.
    const locked = row.isNew && !layout.identityIsColumn ? keys.slice(1) : keys;
    for (const key of locked) row.lockKeys.add(key);
    const { xaRowsMax: rowsMax } = limits;
    if (captured.size <= rowsMax) return;
    throw unsupported(`A branch that changes over ${rowsMax} rows cannot be prepared`, { rowsMax });
  }
}

/** The first is that of its identity. A null is equal to nothing, so it is in no other key. */
function keysOf({ name, identity, uniqueKeys }: TableLayout, values: readonly SqlValue[]): string[] {
  const keys = [keyOf(name, 0, values.slice(0, identity.length))];
  let from = identity.length;
  for (const [index, columns] of uniqueKeys.entries()) {
    const own = values.slice(from, from + columns.length);
    from += columns.length;
    if (!own.includes(null)) keys.push(keyOf(name, index + 1, own));
  }
  return keys;
}

const keyOf = (table: string, index: number, values: readonly SqlValue[]) =>
  JSON.stringify([table, index, ...values.map(keyPart)]);

const triggerName = (touched: Touched, table: string) =>
  `"${guardTriggerPrefix}${touched}_${table.replaceAll('"', '""')}"`;

function lockedError(table: string, branch: string): QueueError {
  return new QueueError('SQL_LOCKED', { details: { table, branch } });
}

function unsupported(message: string, details: Record<string, unknown> = {}): QueueError {
  return new QueueError('XA_UNSUPPORTED', { message, details });
}
