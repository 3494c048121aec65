/** What the statements of one transaction have left: rows and bytes of their results, and time. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { valueBytes } from '../core/sql-statement.ts';
import type { SqlResult } from '../types.ts';

export class SqlBudget {
  readonly #now: () => number;
  readonly #endsAt: number;
  #rows = 0;
  #bytes = 0;

  /** `now`: a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#endsAt = now() + limits.sqlMsMax;
  }

  /** Counts a row. Throws `SQL_TOO_LARGE`, `SQL_TOO_LONG`. */
  take(row: SqlResult['rows'][number]): void {
    this.#rows += 1;
    for (const [name, value] of Object.entries(row)) this.#bytes += name.length + valueBytes(value);
    const { sqlRowsMax: rowsMax, sqlResultBytesMax: bytesMax } = limits;
    if (this.#rows > rowsMax || this.#bytes > bytesMax) {
      throw new QueueError('SQL_TOO_LARGE', {
        details: { rows: this.#rows, rowsMax, bytes: this.#bytes, bytesMax },
      });
    }
    this.assertTime();
  }

  assertTime(): void {
    if (this.#now() <= this.#endsAt) return;
    throw new QueueError('SQL_TOO_LONG', { details: { msMax: limits.sqlMsMax } });
  }
}
