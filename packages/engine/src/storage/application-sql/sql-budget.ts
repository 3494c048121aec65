/**
 * Limits of the application statements of one transaction: rows and bytes of their results, and time. The time is checked
 * between rows and statements, where a transaction can be undone alone; a statement that runs on is killed with its process
 * by the watchdog.
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { SqlResult } from '../../api/sql.ts';
import type { Clock } from '../../model/ports.ts';
import { valueBytes } from '../../model/sql-statement.ts';

export class SqlBudget {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  #rows = 0;
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#deadlineMs = clock.monotonicMs() + limits.sqlExecutionMsMax;
  }

  /** Counts a row. Throws `SQL_TOO_LARGE`, `SQL_TOO_SLOW`. */
  countRow(row: SqlResult['rows'][number]): void {
    this.#rows += 1;
    for (const [name, value] of Object.entries(row)) this.#bytes += name.length + valueBytes(value);
    const { sqlRowsMax: rowsMax, sqlResultBytesMax: bytesMax } = limits;
    if (this.#rows > rowsMax || this.#bytes > bytesMax) {
      throw new QueueError('SQL_TOO_LARGE', {
        details: { rows: this.#rows, rowsMax, bytes: this.#bytes, bytesMax },
      });
    }
    this.assertDeadlineNotPassed();
  }

  assertDeadlineNotPassed(): void {
    if (this.#clock.monotonicMs() <= this.#deadlineMs) return;
    throw new QueueError('SQL_TOO_SLOW', { details: { msMax: limits.sqlExecutionMsMax } });
  }
}
