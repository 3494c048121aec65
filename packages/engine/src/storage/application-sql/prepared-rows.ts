/**
 * The rows of prepared branches on an instance: taken from their statements, locked, and written at the commit. The state in
 * memory is derived from the rows of `xa_branch` and is rebuilt from them after a restart or an undone group.
 */
import { QueueError } from '../../api/errors.ts';
import type { PreparedBranchKey } from '../../model/xa-rows.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import {
  applyBranchRows,
  areApplied,
  type BranchRows,
  encodeBranchRows,
  readBranchRows,
} from './branch-rows.ts';
import { RowLocks } from './row-locks.ts';
import { readTableLayout } from './table-layout.ts';

/**
 * Reads the branches in the file that have rows, by their xid's key; with `only` just the one of this xid. Throws
 * `STORAGE_CORRUPT`.
 */
export type ReadPreparedBranches = (
  only?: PreparedBranchKey,
) => Iterable<readonly [branch: string, rows: string]>;

export class PreparedRows {
  readonly locks: RowLocks;
  readonly #file: SqliteFile;
  readonly #readPreparedBranches: ReadPreparedBranches;
  #loaded = false;

  constructor(file: SqliteFile, readPreparedBranches: ReadPreparedBranches) {
    this.#file = file;
    this.#readPreparedBranches = readPreparedBranches;
    this.locks = new RowLocks(file);
  }

  /** Locks what the branches in the file have locked. Does nothing if that is known. */
  load(): void {
    if (this.#loaded) return;
    this.#loaded = true;
    for (const [branch, text] of this.#readPreparedBranches()) {
      const rows = JSON.parse(text) as BranchRows;
      this.guard(Object.keys(rows.tables));
      this.locks.add(branch, rows);
    }
  }

  /** A rollback may have undone what is in memory: it is read again at the next use. */
  forget(): void {
    this.#loaded = false;
    this.locks.clear();
  }

  /** From now on writes to these tables are observed. */
  guard(tables: Iterable<string>): void {
    for (const table of tables)
      if (!this.locks.isGuarded(table)) this.locks.guard(readTableLayout(this.#file, table));
  }

  /**
   * Has statements run on guarded tables, keeps and locks the rows that they change, and undoes them. Returns the rows, to be
   * stored; '' if none has changed. Throws `SQL_LOCKED`, `XA_UNSUPPORTED`, and what `run` throws.
   */
  capture(branch: string, { run, undo }: { run(): void; undo(): void }): string {
    const captured = this.locks.capture(run);
    const sequences = this.#readSequences();
    const rows = readBranchRows(this.#file, captured);
    this.locks.assertUntouched(rows.wholeTables);
    this.locks.assertCanKeep(rows);
    undo();
    if (rows.changes.length === 0) return '';
    const text = encodeBranchRows(rows);
    // If it succeeds now it succeeds at the commit: no other transaction can change the rows that it depends on.
    if (!this.#canApply(rows, captured))
      throw new QueueError('XA_UNSUPPORTED', {
        message: 'The rows of a branch depend on each other in an order that cannot be repeated',
      });
    undo();
    this.#keepSequences(sequences);
    this.locks.add(branch, rows);
    return text;
  }

  #canApply(rows: BranchRows, captured: Parameters<typeof areApplied>[1]): boolean {
    try {
      this.locks.withoutChecks(() => applyBranchRows(this.#file, rows));
    } catch {
      return false;
    }
    return areApplied(this.#file, captured, rows);
  }

  /** The last numbers that AUTOINCREMENT has given. */
  #readSequences(): { name: string; seq: bigint }[] {
    const exists = this.#file.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").get();
    if (exists === undefined) return [];
    const rows = this.#file.prepare('SELECT name, seq FROM sqlite_sequence').safeIntegers().all();
    return rows as { name: string; seq: bigint }[];
  }

  /** Other transactions get later numbers, so that their new rows do not wait for those of the branch. */
  #keepSequences(sequences: readonly { name: string; seq: bigint }[]): void {
    for (const sequence of sequences) {
      this.#file
        .prepare('UPDATE sqlite_sequence SET seq = @seq WHERE name = @name AND seq < @seq')
        .run(sequence);
      this.#file
        .prepare(
          `INSERT INTO sqlite_sequence (name, seq)
           SELECT @name, @seq WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = @name)`,
        )
        .run(sequence);
    }
  }

  /** Writes the rows of a branch, which the file has. */
  apply(key: PreparedBranchKey): void {
    const [found] = this.#readPreparedBranches(key);
    if (found === undefined) {
      throw new QueueError('STORAGE_CORRUPT', {
        message: 'The rows of a prepared branch are not in the file',
      });
    }
    this.locks.withoutChecks(() => applyBranchRows(this.#file, JSON.parse(found[1]) as BranchRows));
  }
}
