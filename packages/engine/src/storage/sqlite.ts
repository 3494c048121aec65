/** Opens SQLite files the one way that the engine relies on, and turns SQLite's failures into ours. */
import Database from 'better-sqlite3';
import { QueueError, type QueueErrorCode } from '../core/errors.ts';

export type SqliteFile = Database.Database;
export type SqliteStatement = Database.Statement<unknown[]>;

/** Older ones can corrupt a write-ahead log when it is reset while another connection reads. */
const versionMin = [3, 51, 3] as const;

/** A database of its own, gone when it is closed. */
export function openInMemory(): SqliteFile {
  return new Database(':memory:');
}

export function sqliteVersion(): string {
  const memory = openInMemory();
  try {
    return memory.prepare('SELECT sqlite_version()').pluck().get() as string;
  } finally {
    memory.close();
  }
}

export interface OpenSqliteOptions {
  path: string;
  readonly?: boolean;
  /** Wait for another connection's lock inside SQLite, blocking the thread: 0 where a wait is ours to measure. */
  busyMs?: number;
  /** Of a file that is made: default 16 KiB. */
  pageBytes?: number;
}

/**
 * Opens or makes a file: WAL, FULL sync read back, 16 KiB pages (measured: 1.25 × the rate of 4 KiB and a tenth of
 * their p99), no memory mapping, no checkpoints of SQLite's own accord (`checkpoint.ts`).
 */
export function openSqlite({
  path,
  readonly = false,
  busyMs = 0,
  pageBytes = 16_384,
}: OpenSqliteOptions): SqliteFile {
  return mapSqliteErrors(path, () => {
    const file = new Database(path, { readonly, timeout: busyMs });
    try {
      assertVersion(file.prepare('SELECT sqlite_version()').pluck().get() as string);
      if (!readonly) {
        file.pragma(`page_size = ${pageBytes}`);
        enableWal(file, busyMs);
        file.pragma('synchronous = FULL');
        file.pragma('wal_autocheckpoint = 0');
        file.pragma('journal_size_limit = 67108864');
        if (process.platform === 'darwin') file.pragma('fullfsync = ON');
        assertPragma(file, 'journal_mode', 'wal');
        assertPragma(file, 'synchronous', 2);
      }
      file.pragma('mmap_size = 0');
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  });
}

/**
 * SQLite does not wait for others while it changes a file's journal mode, so processes that make a file together would
 * fail each other: this waits up to `busyMs`, blocking the thread as SQLite does elsewhere while a file is opened.
 */
function enableWal(file: SqliteFile, busyMs: number): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const until = performance.now() + busyMs;
  for (;;) {
    try {
      if (file.pragma('journal_mode', { simple: true }) !== 'wal') file.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      Atomics.wait(pause, 0, 0, 5);
    }
  }
}

export function isSqliteError(error: unknown): error is InstanceType<typeof Database.SqliteError> {
  return error instanceof Database.SqliteError;
}

/** Whether another connection has the lock, as SQLite itself says; also where it was mapped already. */
export function isBusy(error: unknown): boolean {
  const cause = error instanceof QueueError ? error.cause : error;
  return cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY');
}

/** Whether the disk has no room: SQLite knows what it did not write then, and nothing is lost. */
export function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_FULL');
}

/** Whether a row was refused by a condition of its table. */
export function isCheckFailed(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_CONSTRAINT_CHECK';
}

function assertVersion(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [index, least] of versionMin.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least) throw new QueueError('SQLITE_TOO_OLD', { details: { version } });
  }
}

function assertPragma(file: SqliteFile, name: string, expected: unknown): void {
  const value = file.pragma(name, { simple: true });
  if (value !== expected) {
    throw new QueueError('STORAGE_FAILED', {
      sentence: `SQLite did not take ${name} = ${String(expected)} (it says ${String(value)})`,
    });
  }
}

const codeBySqlite: [prefix: string, code: QueueErrorCode][] = [
  ['SQLITE_FULL', 'STORAGE_FULL'],
  ['SQLITE_READONLY', 'STORAGE_READ_ONLY'],
  ['SQLITE_CANTOPEN', 'STORAGE_READ_ONLY'],
  ['SQLITE_PERM', 'STORAGE_READ_ONLY'],
  ['SQLITE_CORRUPT', 'STORAGE_CORRUPT'],
  ['SQLITE_NOTADB', 'STORAGE_CORRUPT'],
];

/** The typed error for whatever SQLite threw; errors that are ours already pass through. */
export function toQueueError(error: unknown, path: string): QueueError {
  if (error instanceof QueueError) return error;
  const sqliteCode = error instanceof Database.SqliteError ? error.code : undefined;
  const code = codeBySqlite.find(([prefix]) => sqliteCode?.startsWith(prefix))?.[1] ?? 'STORAGE_FAILED';
  return new QueueError(code, { details: { path, sqlite: sqliteCode ?? String(error) }, cause: error });
}

export function mapSqliteErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toQueueError(error, path);
  }
}
