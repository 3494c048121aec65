/**
 * Runs the application's statements in the writer's transaction, each of its transactions under a savepoint, so that one
 * that fails leaves the rest of the group as it is. A statement is judged before it runs (`sql-program.ts`) and, where it
 * changes the schema, after it (`application-schema.ts`). Errors of storage are thrown: they are the group's.
 */
import { QueueError, type QueueErrorCode } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import {
  changesSchema,
  keywordOf,
  refused,
  type SqlStatement,
  type StatementKeyword,
} from '../core/sql-statement.ts';
import type { SqlResult } from '../types.ts';
import { ApplicationSchema } from './application-schema.ts';
import type { SqlOutcome } from './group-message.ts';
import { SqlBudget } from './sql-budget.ts';
import { type Instruction, insertsRows, refusalOf } from './sql-program.ts';
import { fromSqlite, toSqlite } from './sql-values.ts';
import { isSqliteError, type SqliteFile, type SqliteStatement } from './sqlite.ts';
import { toFailure } from './storage-failure.ts';

interface Compiled {
  statement: SqliteStatement;
  keyword: StatementKeyword;
  insertsRows: boolean;
}

export class ApplicationSql {
  readonly #file: SqliteFile;
  readonly #schema: ApplicationSchema;
  readonly #savepoint: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #rollback: SqliteStatement;
  readonly #schemaVersion: SqliteStatement;
  readonly #lastRowid: SqliteStatement;
  /** By text, as judged at `#judgedAt`. */
  readonly #compiled = new Map<string, Compiled>();
  #roots: ReadonlySet<number> = new Set();
  #judgedAt: unknown;

  constructor(file: SqliteFile, engineNames: ReadonlySet<string>) {
    this.#file = file;
    this.#schema = new ApplicationSchema(file, engineNames);
    this.#savepoint = file.prepare('SAVEPOINT application');
    this.#release = file.prepare('RELEASE application');
    this.#rollback = file.prepare('ROLLBACK TO application');
    this.#schemaVersion = file.prepare('PRAGMA schema_version').pluck();
    this.#lastRowid = file.prepare('SELECT last_insert_rowid()').pluck().safeIntegers();
  }

  /** Runs the statements of one transaction. Throws what has failed the whole group. */
  run(statements: readonly SqlStatement[]): SqlOutcome {
    this.#savepoint.run();
    let at = 0;
    try {
      const budget = new SqlBudget();
      const results: SqlResult[] = [];
      for (const statement of statements) {
        results.push(this.#execute(statement, budget));
        at += 1;
      }
      this.#release.run();
      return { results, failure: null };
    } catch (error) {
      this.forget();
      const failed = toStatementError(error, at);
      if (failed === undefined || !this.#file.inTransaction) throw error;
      this.#rollback.run();
      this.#release.run();
      return { results: [], failure: toFailure(failed, this.#file.name) };
    }
  }

  /** What was judged was judged of a schema that may be gone: a rollback brings its version number back. */
  forget(): void {
    this.#judgedAt = undefined;
  }

  #execute({ sql, parameters }: SqlStatement, budget: SqlBudget): SqlResult {
    const bound = toSqlite(parameters);
    const compiled = this.#compile(sql, bound);
    if (!changesSchema(compiled.keyword)) return this.#run(compiled, bound, budget);
    const before = this.#schema.before();
    const result = this.#run(compiled, bound, budget);
    this.forget();
    for (const view of this.#schema.assertChange(before)) {
      this.#compile(`SELECT * FROM "${view.replaceAll('"', '""')}"`, []);
    }
    return result;
  }

  #run({ statement, insertsRows: inserts }: Compiled, bound: unknown, budget: SqlBudget): SqlResult {
    const rows: SqlResult['rows'] = [];
    let changes: number;
    if (statement.reader) {
      for (const row of statement.iterate(bound)) {
        const own = fromSqlite(row as Record<string, unknown>);
        budget.take(own);
        rows.push(own);
      }
      changes = statement.readonly ? 0 : rows.length;
    } else changes = statement.run(bound).changes;
    budget.assertTime();
    const lastInsertRowid = inserts && changes > 0 ? (this.#lastRowid.get() as bigint) : null;
    return { rows, changes, ...fromSqlite({ lastInsertRowid }) } as SqlResult;
  }

  /** The statement, ready to run. Throws `SQL_REFUSED`, and what SQLite says of one that it cannot compile. */
  #compile(sql: string, bound: unknown): Compiled {
    const version = this.#schemaVersion.get();
    if (version !== this.#judgedAt) {
      this.#compiled.clear();
      this.#roots = this.#schema.roots();
      this.#judgedAt = version;
    }
    const known = this.#compiled.get(sql);
    if (known !== undefined) return known;
    const compiled = this.#judge(sql, bound);
    if (this.#compiled.size >= limits.sqlStatementsKept) this.#compiled.clear();
    this.#compiled.set(sql, compiled);
    return compiled;
  }

  #judge(sql: string, bound: unknown): Compiled {
    const keyword = keywordOf(sql); // before SQLite sees it
    const statement = this.#prepare(sql).safeIntegers();
    const program = this.#file.prepare(`EXPLAIN ${sql}`).all(bound) as Instruction[];
    const reason = refusalOf(program, { keyword, roots: this.#roots });
    if (reason !== undefined) throw refused(reason);
    // It might never end, and nothing could stop it.
    const plan = this.#file.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(bound) as { detail: string }[];
    if (plan.some(({ detail }) => detail === 'RECURSIVE STEP')) throw refused('it is recursive');
    return { statement, keyword, insertsRows: insertsRows(program) };
  }

  #prepare(sql: string): SqliteStatement {
    try {
      return this.#file.prepare(sql);
    } catch (error) {
      if (!isSqliteError(error) || error.code !== 'SQLITE_ERROR') throw error;
      throw new QueueError('SQL_INVALID', { sentence: error.message, cause: error });
    }
  }
}

/** The transaction's own fault, or undefined if it is one of storage, and so the group's. */
function toStatementError(error: unknown, statement: number): QueueError | undefined {
  if (error instanceof QueueError) {
    const details = { ...error.details, statement };
    return new QueueError(error.code, { sentence: error.message, details, cause: error });
  }
  if (error instanceof RangeError || error instanceof TypeError) {
    return new QueueError('SQL_INVALID', { sentence: error.message, details: { statement }, cause: error });
  }
  if (!isSqliteError(error)) return undefined;
  const code = ownFaults.find(([prefix]) => error.code.startsWith(prefix))?.[1];
  if (code === undefined) return undefined;
  const details = { statement, sqlite: error.code };
  return new QueueError(code, { sentence: error.message, details, cause: error });
}

/** Damage in a table of the application is none of the engine's, which finds its own. */
const ownFaults: readonly (readonly [prefix: string, code: QueueErrorCode])[] = [
  ['SQLITE_CONSTRAINT', 'SQL_FAILED'],
  ['SQLITE_MISMATCH', 'SQL_FAILED'],
  ['SQLITE_TOOBIG', 'SQL_FAILED'],
  ['SQLITE_ERROR', 'SQL_FAILED'],
  ['SQLITE_CORRUPT', 'STORAGE_CORRUPT'],
];
