/** A storage error as plain data, for the way from one thread to another. */
import { QueueError, type QueueErrorCode } from '../core/errors.ts';
import type { StorageFailure } from './group-message.ts';
import { toQueueError } from './sqlite.ts';

/** A full disk and a lock held elsewhere pass; anything else leaves the state of the file unknown. */
const passing: readonly QueueErrorCode[] = ['STORAGE_FULL'];

export function toFailure(error: unknown, path: string): StorageFailure {
  const { code, message, details } = toQueueError(error, path);
  const busy = String(details.sqlite ?? '').startsWith('SQLITE_BUSY');
  return { code, message, details: { ...details }, fatal: !busy && !passing.includes(code) };
}

export function fromFailure(failure: StorageFailure): QueueError {
  return new QueueError(failure.code, { sentence: failure.message, details: failure.details });
}
