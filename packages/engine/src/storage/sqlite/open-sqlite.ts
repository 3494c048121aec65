/** Opens SQLite files with the settings that the engine relies on, and maps SQLite's errors to `QueueError`. */
import { accessSync, constants, existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { QueueError, type QueueErrorCode } from '../../api/errors.ts';
import { makeSqliteFilePrivate } from '../private-files.ts';

/** An interface and not an alias, so that types inferred from it have a name of ours: the build of the package declares them. */
export interface SqliteFile extends Database.Database {}
export type SqliteStatement = Database.Statement<unknown[]>;

const busyRetryMs = 5;

/** Older versions can corrupt a write-ahead log when it is reset while another connection reads. */
const sqliteVersionMin = [3, 51, 3] as const;

/** An empty database that is deleted when it is closed. */
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
  /** Wait for another connection's lock inside SQLite, which blocks the thread; 0 where the caller waits itself. */
  busyMs?: number;
  /** Page size of a new file; default 16 KiB. */
  pageBytes?: number;
}

/**
 * Opens or creates a file in WAL mode with `synchronous = FULL`, both read back, pages of 16 KiB (measured: 1.25 × the rate
 * of 4 KiB and a tenth of their p99), no memory mapping, and no automatic checkpoints (`write-ahead-log.ts`).
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
      if (!readonly) makeSqliteFilePrivate(path);
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
 * SQLite does not wait for a lock while it changes the journal mode, so processes that create a file at the same time would
 * fail. This waits up to `busyMs` and blocks the thread, as SQLite does for other locks.
 */
function enableWal(file: SqliteFile, busyMs: number): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; ; waitedMs += busyRetryMs) {
    try {
      if (file.pragma('journal_mode', { simple: true }) !== 'wal') file.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= busyMs) throw error;
      Atomics.wait(pause, 0, 0, busyRetryMs);
    }
  }
}

export function isSqliteError(error: unknown): error is InstanceType<typeof Database.SqliteError> {
  return error instanceof Database.SqliteError;
}

/** Whether another connection has the lock; also for an error that was mapped already. */
export function isBusy(error: unknown): boolean {
  const cause = error instanceof QueueError ? error.cause : error;
  return cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY');
}

/** Whether the disk is full: SQLite rolls back what it could not write, so nothing is lost. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_FULL');
}

/** Whether a CHECK constraint refused a row. */
export function isCheckFailed(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_CONSTRAINT_CHECK';
}

function assertVersion(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [index, least] of sqliteVersionMin.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least) throw new QueueError('SQLITE_TOO_OLD', { details: { version } });
  }
}

function assertPragma(file: SqliteFile, name: string, expected: unknown): void {
  const value = file.pragma(name, { simple: true });
  if (value !== expected) {
    throw new QueueError('STORAGE_FAILED', {
      message: `SQLite did not take ${name} = ${String(expected)} (it says ${String(value)})`,
    });
  }
}

const errorCodeBySqlitePrefix: [prefix: string, code: QueueErrorCode][] = [
  ['SQLITE_FULL', 'STORAGE_FULL'],
  ['SQLITE_READONLY', 'STORAGE_READ_ONLY'],
  ['SQLITE_CANTOPEN', 'STORAGE_READ_ONLY'],
  ['SQLITE_PERM', 'STORAGE_READ_ONLY'],
  ['SQLITE_CORRUPT', 'STORAGE_CORRUPT'],
  ['SQLITE_NOTADB', 'STORAGE_CORRUPT'],
];

/** Maps an error of SQLite; a `QueueError` passes through. */
export function toQueueError(error: unknown, path: string): QueueError {
  if (error instanceof QueueError) return error;
  const sqliteCode = error instanceof Database.SqliteError ? error.code : undefined;
  const mapped =
    errorCodeBySqlitePrefix.find(([prefix]) => sqliteCode?.startsWith(prefix))?.[1] ?? 'STORAGE_FAILED';
  const code = sqliteCode === 'SQLITE_READONLY' && isWritable(path) ? 'STORAGE_CORRUPT' : mapped;
  return new QueueError(code, { details: { path, sqlite: sqliteCode ?? String(error) }, cause: error });
}

/**
 * Whether this process may write to a file and its log. If SQLite does not all the same, the file's header names a later format for
 * writers, as a flipped bit does. The header is not read here: closing a descriptor drops the locks that SQLite holds on the file.
 */
function isWritable(path: string): boolean {
  try {
    for (const suffix of ['', '-wal', '-shm'])
      if (suffix === '' || existsSync(path + suffix)) accessSync(path + suffix, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export function mapSqliteErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toQueueError(error, path);
  }
}
