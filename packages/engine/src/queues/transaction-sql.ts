/**
 * The application's statements in a transaction on sharded queues: staged for its commit, or answered at once by the writer,
 * which the transaction then keeps reserved. A transaction uses one of the two ways.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { SqlResult } from '../api/sql.ts';
import type { StagedSql, StagedTransaction } from '../commit/staged-transaction.ts';
import type { WriterReservation } from '../commit/writer-reservation.ts';
import { type SqlStatement, sqlRefused } from '../model/sql-statement.ts';
import type { TransactionStatements } from './queue-engine.ts';

export interface TransactionSqlOptions {
  staged: StagedTransaction;
  /** Throws `TX_TOO_LARGE` if the transaction has no room for this many more. */
  assertWithinLimits(operations: number, bytes: number): void;
  /** Resolves when the writer is the caller's alone, until its commit or the release of the reservation. */
  reserveWriter(): Promise<WriterReservation>;
}

export class TransactionSql implements TransactionStatements {
  readonly #options: TransactionSqlOptions;
  readonly #staged: StagedTransaction;
  /** Number of statements that the writer was asked to answer. */
  queryCount = 0;

  constructor(options: TransactionSqlOptions) {
    this.#options = options;
    this.#staged = options.staged;
  }

  async query(statement: SqlStatement): Promise<SqlResult> {
    if (this.#staged.sql !== undefined)
      throw sqlRefused('statements staged before it run at the commit only');
    this.#options.assertWithinLimits(1, 0);
    assertStatementCount(this.queryCount);
    this.#staged.reservation ??= await this.#options.reserveWriter();
    this.queryCount += 1;
    this.#staged.sync = 'FULL';
    return await this.#staged.reservation.query(statement);
  }

  execute(statement: SqlStatement, bytes: number): void {
    this.#options.assertWithinLimits(1, bytes);
    const { statements } = this.#stagedSql();
    assertStatementCount(statements.length);
    statements.push(statement);
    this.#staged.bytes += bytes;
    this.#staged.sync = 'FULL';
  }

  /** Adds the staged statements of a transaction that ends, behind its own. Their bytes are counted by the caller. */
  absorb(others: readonly SqlStatement[]): void {
    const { statements } = this.#stagedSql();
    if (statements.length + others.length > limits.sqlStatementsMax) throw new QueueError('TX_TOO_LARGE');
    statements.push(...others);
  }

  #stagedSql(): StagedSql {
    this.#staged.sql ??= { statements: [], results: [] };
    return this.#staged.sql;
  }
}

function assertStatementCount(count: number): void {
  const { sqlStatementsMax: statementsMax } = limits;
  if (count >= statementsMax) throw new QueueError('SQL_TOO_LARGE', { details: { statementsMax } });
}
