/** Turns a storage error into plain data (`model/storage-failure.ts`). */
import type { QueueErrorCode } from '../../api/errors.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { toQueueError } from './open-sqlite.ts';

/** A full disk, a full log and a lock of another connection are transient; after anything else the state of the file is unknown. */
const transientCodes: readonly QueueErrorCode[] = ['STORAGE_FULL', 'LOG_FULL'];

export function toStorageFailure(error: unknown, path: string): StorageFailure {
  const { code, message, details } = toQueueError(error, path);
  const busy = String(details.sqlite ?? '').startsWith('SQLITE_BUSY');
  return { code, message, details: { ...details }, fatal: !busy && !transientCodes.includes(code) };
}
