/** The application's own SQL statements in a queue transaction. */

/** An INTEGER is a number where that is exact and a bigint beyond 2^53, a REAL is a number, a BLOB is bytes. */
export type SqlValue = null | number | bigint | string | Uint8Array;

/** By position, or by name without its prefix (`:name`, `@name`, `$name`). A whole number is bound as an INTEGER. */
export type SqlParameters = readonly SqlValue[] | Readonly<Record<string, SqlValue>>;

/** The result of one statement. */
export interface SqlResult {
  /** Rows of a query or of a RETURNING clause. Further columns of the same name are `name:1`, `name:2`, …, as in an SQLite subquery. */
  rows: Record<string, SqlValue>[];
  /** Rows that the statement itself inserted, updated or deleted. */
  changes: number;
  /** Row id of the last row that an INSERT added; null if it added none. */
  lastInsertRowid: number | bigint | null;
}
