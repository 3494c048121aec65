/**
 * Tables beside the message log whose every row is a promise. The last column of each, `crc`, is a checksum over those
 * before it. `meta` has, under `stored <table>`, a sum over the checksums of all rows, which triggers renew with every
 * write: it notices a row that a damaged page hides, or that an old page brings back. A group that writes to such a table
 * writes `meta` anyway, so the sum costs no page more.
 */
import { QueueError } from '../../../api/errors.ts';
import { rowChecksum } from '../../checksum.ts';
import { columnList, columnName, selectList } from '../../sqlite/columns.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';

type Value = number | string | Uint8Array | null;

export interface CheckedTableSpec<Row> {
  name: string;
  /** Properties of a row, in the order of the columns, without `crc`. */
  columns: readonly (keyof Row & string)[];
  /** Columns of the primary key: a row with the same key is replaced. */
  key: readonly (keyof Row & string)[];
}

/** One is added for each row, so that a row whose checksum is 0 counts too. The sum stays exact as a double. */
const sumMask = 2 ** 53 - 1;

export class CheckedTable<Row extends { [Column in keyof Row]: Value }> {
  readonly name: string;
  readonly #columns: readonly (keyof Row & string)[];
  /** Inserts a row of the properties of `columns` and `crc`, or replaces that of the same key. */
  readonly insertSql: string;

  constructor({ name, columns, key }: CheckedTableSpec<Row>) {
    this.name = name;
    this.#columns = columns;
    const isKey = (column: string) => (key as readonly string[]).includes(column);
    const replaced = [...columns, 'crc'].filter((column) => !isKey(column)).map(columnName);
    const values = [...columns, 'crc'].map((property) => `@${property}`).join(', ');
    // Not INSERT OR REPLACE, for which SQLite runs no trigger of the deletion.
    this.insertSql = `INSERT INTO ${name} (${columnList([...columns, 'crc'])}) VALUES (${values})
      ON CONFLICT (${columnList(key)}) DO UPDATE SET ${replaced.map((column) => `${column} = excluded.${column}`).join(', ')}`;
  }

  /** To follow the table's own definition in the schema. */
  get countingSql(): string {
    const add = (term: string) =>
      `UPDATE meta SET value = (value + ${term}) & ${sumMask} WHERE key = 'stored ${this.name}';`;
    return `
    INSERT INTO meta (key, value) VALUES ('stored ${this.name}', 0);
    CREATE TRIGGER ${this.name}_inserted AFTER INSERT ON ${this.name} BEGIN ${add('new.crc + 1')} END;
    CREATE TRIGGER ${this.name}_updated AFTER UPDATE ON ${this.name} BEGIN ${add('new.crc - old.crc')} END;
    CREATE TRIGGER ${this.name}_deleted AFTER DELETE ON ${this.name} BEGIN ${add('-old.crc - 1')} END;`;
  }

  /** Inserts the row, or replaces that of the same key. */
  createWriter(file: SqliteFile): (row: Row) => void {
    const insert = file.prepare(this.insertSql);
    return (row) => void insert.run({ ...row, crc: this.#checksumOf(row) });
  }

  /** Returns rows in the order of the primary key. Throws `STORAGE_CORRUPT` if one is damaged. */
  read(file: SqliteFile, where = '', ...values: Value[]): Row[] {
    const rows = this.#select(file, where, values);
    const damaged = rows.find((row) => !this.isUndamaged(row));
    if (damaged !== undefined) throw this.#damagedError(file, 'a row');
    return rows.map(withoutChecksum);
  }

  /** Returns the rows whose checksum matches. */
  readUndamaged(file: SqliteFile, where = ''): Row[] {
    return this.#select(file, where, [])
      .filter((row) => this.isUndamaged(row))
      .map(withoutChecksum);
  }

  /** Verifies the checksum of a stored row. */
  isUndamaged(row: Row & { crc: number }): boolean {
    return row.crc === this.#checksumOf(row);
  }

  /** Select list of all columns, under the names of the row's properties. */
  get selectList(): string {
    return selectList([...this.#columns, 'crc']);
  }

  #select(file: SqliteFile, where: string, values: Value[]): (Row & { crc: number })[] {
    return file.prepare(`SELECT ${this.selectList} FROM ${this.name} ${where}`).all(...values) as (Row & {
      crc: number;
    })[];
  }

  #checksumOf(row: Row): number {
    return rowChecksum(this.#columns.map((column) => row[column]));
  }

  /** Throws `STORAGE_CORRUPT` if the table has lost rows, or has rows that were not written to it. */
  assertComplete(file: SqliteFile): void {
    if (!this.#isComplete(file)) throw this.#damagedError(file, 'the set of rows');
  }

  #isComplete(file: SqliteFile): boolean {
    return (
      file
        .prepare(
          `SELECT (SELECT coalesce(sum(crc + 1), 0) & ${sumMask} FROM ${this.name}) = value
           FROM meta WHERE key = 'stored ${this.name}'`,
        )
        .pluck()
        .get() === 1
    );
  }

  /** Finds damage and returns it as sentences. Reads every row. */
  findFaults(file: SqliteFile): string[] {
    const faults: string[] = [];
    const damaged = this.#select(file, '', []).filter((row) => !this.isUndamaged(row)).length;
    if (damaged > 0) faults.push(`${damaged} rows of the table ${this.name} are damaged (checksum mismatch)`);
    if (!this.#isComplete(file))
      faults.push(
        `The table ${this.name} has lost rows, or has rows that were not written to it (checksum mismatch)`,
      );
    return faults;
  }

  /** For a repair: deletes damaged rows and recounts the rest. Returns what `findFaults` found before. */
  acceptLoss(file: SqliteFile): string[] {
    const faults = this.findFaults(file);
    const rows = this.#select(file, '', []);
    const undamaged = this.readUndamaged(file);
    if (undamaged.length < rows.length) {
      file.prepare(`DELETE FROM ${this.name}`).run();
      const write = this.createWriter(file);
      for (const row of undamaged) write(row);
    }
    file
      .prepare(
        `INSERT OR REPLACE INTO meta (key, value)
         SELECT 'stored ${this.name}', coalesce(sum(crc + 1), 0) & ${sumMask} FROM ${this.name}`,
      )
      .run();
    return faults;
  }

  #damagedError(file: SqliteFile, what: string): QueueError {
    return new QueueError('STORAGE_CORRUPT', {
      message: `In the table ${this.name} of ${file.name}, ${what} is damaged (checksum mismatch)`,
      details: { path: file.name, table: this.name },
    });
  }
}

/** The row that was written: the compiler cannot know that it has no column of this name itself. */
function withoutChecksum<Row extends object>({ crc: _, ...row }: Row & { crc: number }): Row {
  return row as unknown as Row;
}
