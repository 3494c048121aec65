/**
 * Runs the application's statements in the writer's transaction, each of its transactions under a savepoint, so that one
 * that fails leaves the rest of the group as it is. A statement is judged before it runs (`sql-program.ts`) and, where it
 * changes the schema, after it (`application-schema.ts`). Errors of storage are thrown: they are the group's.
 */
import { QueueError, type QueueErrorCode } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { SqlResult, SqlValue } from '../../api/sql.ts';
import type { SqlOutcome } from '../../model/group-message.ts';
import type { Clock } from '../../model/ports.ts';
import {
  changesSchema,
  keywordOf,
  type SqlStatement,
  type StatementKeyword,
  sqlRefused,
} from '../../model/sql-statement.ts';
import {
  distinctColumnNames,
  fromSqliteRow,
  fromSqliteValue,
  toSqliteParameters,
} from '../../model/sql-values.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import type { PreparedBranchKey } from '../../model/xa-rows.ts';
import { isSqliteError, type SqliteFile, type SqliteStatement } from '../sqlite/open-sqlite.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import { ApplicationSchema } from './application-schema.ts';
import { PreparedRows, type ReadPreparedBranches } from './prepared-rows.ts';
import { SqlBudget } from './sql-budget.ts';
import { type Instruction, insertsRows, refusalReason, writtenRoots } from './sql-program.ts';

interface CompiledStatement {
  statement: SqliteStatement;
  keyword: StatementKeyword;
  insertsRows: boolean;
  /** Tables that it writes to, cascades included. */
  writes: string[];
}

export interface ApplicationSqlOptions {
  file: SqliteFile;
  engineNames: ReadonlySet<string>;
  /** Bounds the time of statements. */
  clock: Clock;
  readPreparedBranches: ReadPreparedBranches;
}

export class ApplicationSqlExecutor {
  /** The rows of prepared branches, and their locks. */
  readonly prepared: PreparedRows;
  readonly #clock: Clock;
  readonly #file: SqliteFile;
  readonly #schema: ApplicationSchema;
  readonly #savepoint: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #rollback: SqliteStatement;
  readonly #schemaVersion: SqliteStatement;
  readonly #selectLastRowid: SqliteStatement;
  /** Compiled statements by text, checked under the schema of `#judgedAt`. */
  readonly #compiled = new Map<string, CompiledStatement>();
  #tableOfRoots: ReadonlyMap<number, string> = new Map();
  #compiledSchemaVersion: unknown;

  constructor({ file, engineNames, clock, readPreparedBranches }: ApplicationSqlOptions) {
    this.#clock = clock;
    this.#file = file;
    this.#schema = new ApplicationSchema(file, engineNames);
    this.prepared = new PreparedRows(file, readPreparedBranches);
    this.#savepoint = file.prepare('SAVEPOINT application');
    this.#release = file.prepare('RELEASE application');
    this.#rollback = file.prepare('ROLLBACK TO application');
    this.#schemaVersion = file.prepare('PRAGMA schema_version').pluck();
    this.#selectLastRowid = file.prepare('SELECT last_insert_rowid()').pluck().safeIntegers();
  }

  /** Runs the statements of one transaction, telling of each before. Throws what has failed the whole group. */
  run(
    statements: readonly SqlStatement[],
    onStatement: (index: number) => void = () => undefined,
  ): SqlOutcome {
    this.prepared.load();
    return this.#underSavepoint((progress) => ({
      results: this.#executeAll(statements, progress, onStatement),
      failure: null,
    }));
  }

  /**
   * Runs the statements of a branch, captures their row changes, and undoes them; from then on the rows are locked. The results
   * contain no rows, and are empty if no row has changed. Throws as `run`.
   */
  prepareBranch(
    branch: string,
    statements: readonly SqlStatement[],
    onStatement: (index: number) => void = () => undefined,
  ): { outcome: SqlOutcome; rows: string } {
    let rows = '';
    this.prepared.load();
    const refusal = this.#guardTables(statements);
    if (refusal !== null) return { outcome: { results: [], failure: refusal }, rows };
    const outcome = this.#underSavepoint((progress) => {
      let results: SqlResult[] = [];
      rows = this.prepared.capture(branch, {
        run: () => {
          results = this.#executeAll(statements, progress, onStatement);
        },
        undo: () => this.#rollback.run(),
      });
      return {
        results: rows === '' ? [] : results.map((result) => ({ ...result, rows: [] })),
        failure: null,
      };
    });
    return { outcome, rows: outcome.failure === null ? rows : '' };
  }

  /**
   * Starts observing writes to the tables that the statements write to. Call it outside of a savepoint, whose rollback would undo
   * that.
   */
  #guardTables(statements: readonly SqlStatement[]): StorageFailure | null {
    let at = 0;
    try {
      for (const { sql, parameters } of statements) {
        const { keyword, writes } = this.#getCompiled(sql, toSqliteParameters(parameters));
        if (changesSchema(keyword)) {
          const message = 'A branch that changes the schema cannot be prepared';
          throw new QueueError('XA_UNSUPPORTED', { message });
        }
        this.prepared.guard(writes);
        at += 1;
      }
      return null;
    } catch (error) {
      const failed = toStatementError(error, at);
      if (failed === undefined) throw error;
      return toStorageFailure(failed, this.#file.name);
    }
  }

  /** Writes the rows of a prepared branch, whose locks stay until its row is deleted. Throws as `run`. */
  commitBranch(key: PreparedBranchKey): SqlOutcome {
    this.prepared.load();
    return this.#underSavepoint(() => {
      this.prepared.apply(key);
      return { results: [], failure: null };
    });
  }

  #executeAll(
    statements: readonly SqlStatement[],
    progress: { at: number },
    onStatement: (index: number) => void,
  ): SqlResult[] {
    const budget = new SqlBudget(this.#clock);
    return statements.map((statement, index) => {
      progress.at = index;
      onStatement(index);
      return this.#execute(statement, budget);
    });
  }

  /** Undoes what `work` did if it fails, and says why. `progress.at`: the index of the statement that it was at. */
  #underSavepoint(work: (progress: { at: number }) => SqlOutcome): SqlOutcome {
    this.#savepoint.run();
    const progress = { at: 0 };
    try {
      const outcome = work(progress);
      this.#release.run();
      return outcome;
    } catch (error) {
      this.invalidateCompiled();
      const failed = toStatementError(error, progress.at);
      if (failed === undefined || !this.#file.inTransaction) throw error;
      this.#rollback.run();
      this.#release.run();
      return { results: [], failure: toStorageFailure(failed, this.#file.name) };
    }
  }

  /** A rollback of the whole group: it may have undone locks too. */
  onGroupUndone(): void {
    this.invalidateCompiled();
    this.prepared.forget();
  }

  /** Forgets the checked programs: a rollback can restore a schema version number that they were checked against. */
  invalidateCompiled(): void {
    this.#compiledSchemaVersion = undefined;
  }

  #execute({ sql, parameters }: SqlStatement, budget: SqlBudget): SqlResult {
    const bound = toSqliteParameters(parameters);
    // Before it is compiled, since with a table it would drop the triggers of its locks.
    if (changesSchema(keywordOf(sql))) this.prepared.locks.prepareSchemaChange();
    const compiled = this.#getCompiled(sql, bound);
    if (!changesSchema(compiled.keyword)) {
      this.prepared.locks.assertTablesFree(compiled.writes);
      return this.#runCompiled(compiled, bound, budget);
    }
    const before = this.#schema.snapshot();
    const result = this.#runCompiled(compiled, bound, budget);
    this.invalidateCompiled();
    for (const view of this.#schema.assertChangeAllowed(before)) {
      this.#getCompiled(`SELECT * FROM "${view.replaceAll('"', '""')}"`, []);
    }
    return result;
  }

  #runCompiled(
    { statement, insertsRows: inserts }: CompiledStatement,
    bound: unknown,
    budget: SqlBudget,
  ): SqlResult {
    const rows: SqlResult['rows'] = [];
    let changes: number;
    if (statement.reader) {
      const names = distinctColumnNames(statement.columns().map(({ name }) => name));
      for (const values of statement.iterate(bound)) {
        const row = fromSqliteRow(names, values as SqlValue[]);
        budget.countRow(row);
        rows.push(row);
      }
      changes = statement.readonly ? 0 : rows.length;
    } else changes = statement.run(bound).changes;
    budget.assertDeadlineNotPassed();
    const lastRowid = inserts && changes > 0 ? (this.#selectLastRowid.get() as bigint) : null;
    return { rows, changes, lastInsertRowid: fromSqliteValue(lastRowid) as SqlResult['lastInsertRowid'] };
  }

  /** Returns the statement ready to run. Throws `SQL_REFUSED`, and SQLite's error if it cannot be compiled. */
  #getCompiled(sql: string, bound: unknown): CompiledStatement {
    const version = this.#schemaVersion.get();
    if (version !== this.#compiledSchemaVersion) {
      this.#compiled.clear();
      this.#tableOfRoots = this.#schema.tableOfRoots();
      this.#compiledSchemaVersion = version;
    }
    const known = this.#compiled.get(sql);
    if (known !== undefined) return known;
    const compiled = this.#compileAndCheck(sql, bound);
    if (this.#compiled.size >= limits.sqlStatementsCachedMax) this.#compiled.clear();
    this.#compiled.set(sql, compiled);
    return compiled;
  }

  #compileAndCheck(sql: string, bound: unknown): CompiledStatement {
    const keyword = keywordOf(sql); // before SQLite sees it
    const statement = this.#prepare(sql).safeIntegers();
    if (statement.reader) statement.raw(); // rows as arrays, because names of columns can repeat
    const program = this.#file.prepare(`EXPLAIN ${sql}`).all(bound) as Instruction[];
    const reason = refusalReason(program, { keyword, rootPages: this.#tableOfRoots });
    if (reason !== undefined) throw sqlRefused(reason);
    // It might never end: refused at once instead of killed after its time.
    const plan = this.#file.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(bound) as { detail: string }[];
    if (plan.some(({ detail }) => detail === 'RECURSIVE STEP')) throw sqlRefused('it is recursive');
    const roots = changesSchema(keyword) ? [] : [...writtenRoots(program)];
    const written = new Set(roots.flatMap((root) => this.#tableOfRoots.get(root) ?? []));
    const writes = [...written].filter((table) => !table.startsWith('sqlite_')); // AUTOINCREMENT's numbers
    return { statement, keyword, insertsRows: insertsRows(program), writes };
  }

  #prepare(sql: string): SqliteStatement {
    try {
      return this.#file.prepare(sql);
    } catch (error) {
      if (!isSqliteError(error) || error.code !== 'SQLITE_ERROR') throw error;
      throw new QueueError('SQL_INVALID', { message: error.message, cause: error });
    }
  }
}

/** The transaction's own fault, or undefined if it is one of storage, and so the group's. */
function toStatementError(error: unknown, statement: number): QueueError | undefined {
  if (error instanceof QueueError) {
    const details = { ...error.details, statement };
    return new QueueError(error.code, { message: error.message, details, cause: error });
  }
  if (error instanceof RangeError || error instanceof TypeError) {
    return new QueueError('SQL_INVALID', { message: error.message, details: { statement }, cause: error });
  }
  if (!isSqliteError(error)) return undefined;
  const code = statementErrorCodes.find(([prefix]) => error.code.startsWith(prefix))?.[1];
  if (code === undefined) return undefined;
  const details = { statement, sqlite: error.code };
  return new QueueError(code, { message: error.message, details, cause: error });
}

/**
 * Errors of SQLite that fail one transaction. Damage here is in the application's tables: the engine's have checksums of
 * their own.
 */
const statementErrorCodes: readonly (readonly [prefix: string, code: QueueErrorCode])[] = [
  ['SQLITE_CONSTRAINT', 'SQL_FAILED'],
  ['SQLITE_MISMATCH', 'SQL_FAILED'],
  ['SQLITE_TOOBIG', 'SQL_FAILED'],
  ['SQLITE_ERROR', 'SQL_FAILED'],
  ['SQLITE_CORRUPT', 'STORAGE_CORRUPT'],
];
