/**
 * Tells the application's tables in an instance's file from the engine's, and keeps schema changes away from the engine's. The
 * name decides. The engine owns the names that a new file of the newest format has, `partition_…`, and `shardlab_…`, which is
 * reserved for later formats; the application owns all others.
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { sqlRefused } from '../../model/sql-statement.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';
import { touchFunction } from './sql-program.ts';

interface SchemaRow {
  type: 'table' | 'index' | 'view' | 'trigger';
  name: string;
  /** The table of an index or a trigger; for a table or view, its own name. */
  tableName: string;
  /** Null or 0 if it stores no rows. */
  rootPage: number | null;
  sql: string | null;
}

/** The schema before a change. */
export interface SchemaSnapshot {
  engineSchema: string;
  applicationViews: ReadonlySet<string>;
}

export class ApplicationSchema {
  readonly #engineNames: ReadonlySet<string>;
  readonly #selectAll: SqliteStatement;
  readonly #selectForeignKeyTables: SqliteStatement;

  /** `engineNames`: of all that a new file has, in lower case. */
  constructor(file: SqliteFile, engineNames: ReadonlySet<string>) {
    this.#engineNames = engineNames;
    this.#selectAll = file.prepare(
      'SELECT type, name, tbl_name AS tableName, rootpage AS rootPage, sql FROM sqlite_schema',
    );
    this.#selectForeignKeyTables = file.prepare('SELECT "table" FROM pragma_foreign_key_list(?)').pluck();
  }

  isEngineName(name: string): boolean {
    const lower = name.toLowerCase(); // as SQLite compares names: ASCII only, which all of these are
    return this.#engineNames.has(lower) || lower.startsWith('partition_') || lower.startsWith('shardlab_');
  }

  #readRowsByOwner(): { engine: SchemaRow[]; application: SchemaRow[] } {
    const rows = this.#selectAll.all() as SchemaRow[];
    const { engine = [], application = [] } = Object.groupBy(rows, (row) =>
      this.isEngineName(row.tableName) ? 'engine' : 'application',
    );
    return { engine, application };
  }

  /** Root pages of the application's tables and indexes, each with its table. */
  tableOfRoots(): Map<number, string> {
    return new Map(
      this.#readRowsByOwner().application.flatMap(({ rootPage, tableName }) =>
        rootPage === null || rootPage === 0 ? [] : [[rootPage, tableName]],
      ),
    );
  }

  snapshot(): SchemaSnapshot {
    const { engine, application } = this.#readRowsByOwner();
    return { engineSchema: JSON.stringify(engine), applicationViews: new Set(viewNames(application)) };
  }

  /**
   * Throws `SQL_REFUSED` if a change of the schema reached what is the engine's, or made what an application may not
   * have. Returns the views that it made.
   */
  assertChangeAllowed(before: SchemaSnapshot): string[] {
    const { engine, application } = this.#readRowsByOwner();
    if (JSON.stringify(engine) !== before.engineSchema)
      throw sqlRefused("it changes what is not the application's");
    for (const row of application) this.#assertObjectAllowed(row);
    if (application.length > limits.sqlObjectsMax) {
      throw new QueueError('SQL_TOO_LARGE', {
        details: { objects: application.length, objectsMax: limits.sqlObjectsMax },
      });
    }
    return viewNames(application).filter((view) => !before.applicationViews.has(view));
  }

  #assertObjectAllowed({ type, name, rootPage, sql }: SchemaRow): void {
    if (type === 'trigger') throw sqlRefused('triggers are not for the application');
    if (this.isEngineName(name)) throw sqlRefused(`the name ${name} is the engine's`);
    if (sql?.toLowerCase().includes(touchFunction)) throw sqlRefused("it uses a function of the engine's");
    if (type !== 'table') return;
    if (rootPage === null || rootPage === 0) throw sqlRefused('it makes a virtual table');
    // The engine's deletes would check the application's table, and cascade into it.
    if (sql === null || !/references/i.test(sql)) return;
    for (const parent of this.#selectForeignKeyTables.all(name) as string[]) {
      if (this.isEngineName(parent)) throw sqlRefused(`a foreign key of ${name} refers to ${parent}`);
    }
  }
}

function viewNames(rows: readonly SchemaRow[]): string[] {
  return rows.filter(({ type }) => type === 'view').map(({ name }) => name);
}
