/**
 * Which tables of an instance's file are the application's, and that a change of the schema leaves the engine's alone.
 * Whose a table is goes by its name: those of a new file of the newest format, `partition_…`, and `shardlab_…`, which is
 * what later formats are to call theirs, are the engine's; all others are the application's.
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { refused } from '../core/sql-statement.ts';
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

interface SchemaRow {
  type: 'table' | 'index' | 'view' | 'trigger';
  name: string;
  /** The table that an index or a trigger is of; of a table or view its own name. */
  of: string;
  /** Null or 0 where it has no rows of its own. */
  root: number | null;
  sql: string | null;
}

/** The schema before a change. */
export interface SchemaBefore {
  engine: string;
  views: ReadonlySet<string>;
}

export class ApplicationSchema {
  readonly #names: ReadonlySet<string>;
  readonly #all: SqliteStatement;
  readonly #foreignKeys: SqliteStatement;

  /** `engineNames`: of all that a new file has, in lower case. */
  constructor(file: SqliteFile, engineNames: ReadonlySet<string>) {
    this.#names = engineNames;
    this.#all = file.prepare('SELECT type, name, tbl_name AS "of", rootpage AS root, sql FROM sqlite_schema');
    this.#foreignKeys = file.prepare('SELECT "table" FROM pragma_foreign_key_list(?)').pluck();
  }

  isEngines(name: string): boolean {
    const lower = name.toLowerCase(); // as SQLite compares names: ASCII only, which all of these are
    return this.#names.has(lower) || lower.startsWith('partition_') || lower.startsWith('shardlab_');
  }

  #rows(): { engine: SchemaRow[]; application: SchemaRow[] } {
    const rows = this.#all.all() as SchemaRow[];
    const { engine = [], application = [] } = Object.groupBy(rows, (row) =>
      this.isEngines(row.of) ? 'engine' : 'application',
    );
    return { engine, application };
  }

  /** Root pages of the application's tables and indexes. */
  roots(): Set<number> {
    return new Set(
      this.#rows().application.flatMap(({ root }) => (root === null || root === 0 ? [] : [root])),
    );
  }

  before(): SchemaBefore {
    const { engine, application } = this.#rows();
    return { engine: JSON.stringify(engine), views: new Set(viewsOf(application)) };
  }

  /**
   * Throws `SQL_REFUSED` if a change of the schema reached what is the engine's, or made what an application may not
   * have. Returns the views that it made.
   */
  assertChange(before: SchemaBefore): string[] {
    const { engine, application } = this.#rows();
    if (JSON.stringify(engine) !== before.engine) throw refused("it changes what is not the application's");
    for (const row of application) this.#assertObject(row);
    if (application.length > limits.sqlObjectsMax) {
      throw new QueueError('SQL_TOO_LARGE', {
        details: { objects: application.length, objectsMax: limits.sqlObjectsMax },
      });
    }
    return viewsOf(application).filter((view) => !before.views.has(view));
  }

  #assertObject({ type, name, root, sql }: SchemaRow): void {
    if (type === 'trigger') throw refused('triggers are not for the application');
    if (this.isEngines(name)) throw refused(`the name ${name} is the engine's`);
    if (type !== 'table') return;
    if (root === null || root === 0) throw refused('it makes a virtual table');
    // The engine's deletes would look into the application's table, and cascade there.
    if (sql === null || !/references/i.test(sql)) return;
    for (const parent of this.#foreignKeys.all(name) as string[]) {
      if (this.isEngines(parent)) throw refused(`a foreign key of ${name} refers to ${parent}`);
    }
  }
}

function viewsOf(rows: readonly SchemaRow[]): string[] {
  return rows.filter(({ type }) => type === 'view').map(({ name }) => name);
}
