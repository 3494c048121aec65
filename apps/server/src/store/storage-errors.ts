/**
 * Errors of SQLite and of the file system that reach a route are those of the server's own files: the engine maps its own before they
 * leave it. They get the same codes as there, so that a client of the lab sees a full disk as a client of the queues does.
 */
import { QueueError, type QueueErrorCode } from '@shardlab/engine';
import Database from 'better-sqlite3';

/** By the beginning of SQLite's code, or the system's. SQLite says of a used-up quota only that a write failed. */
const codes: readonly [beginning: string, code: QueueErrorCode, message?: string][] = [
  ['SQLITE_FULL', 'STORAGE_FULL'],
  ['ENOSPC', 'STORAGE_FULL'],
  ['EDQUOT', 'STORAGE_FULL', 'The quota of the disk is used up'],
  ['SQLITE_READONLY', 'STORAGE_READ_ONLY'],
  ['SQLITE_CANTOPEN', 'STORAGE_READ_ONLY'],
  ['SQLITE_PERM', 'STORAGE_READ_ONLY'],
  ['EROFS', 'STORAGE_READ_ONLY'],
  ['SQLITE_CORRUPT', 'STORAGE_CORRUPT', 'The run history is damaged; queues and messages are not in it'],
  ['SQLITE_NOTADB', 'STORAGE_CORRUPT', 'The run history is damaged; queues and messages are not in it'],
  ['SQLITE_IOERR', 'STORAGE_FAILED'],
  ['EIO', 'STORAGE_FAILED'],
];

/** Undefined for every other error. */
export function toStorageError(error: unknown): QueueError | undefined {
  const isOfStorage =
    error instanceof Database.SqliteError ||
    (error instanceof Error && 'syscall' in error && 'code' in error);
  if (!isOfStorage) return undefined;
  const found = codes.find(([beginning]) => String(error.code).startsWith(beginning));
  if (found === undefined) return undefined;
  const [, code, message] = found;
  return new QueueError(code, { ...(message === undefined ? {} : { message }), cause: error });
}
