/** A storage error as plain data, so that it can pass from one thread to another. */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';

export interface StorageFailure {
  code: QueueErrorCode;
  message: string;
  details: Record<string, unknown>;
  /** True after a failed sync or for a damaged file: nothing more is written, and the instance must be opened again. */
  fatal: boolean;
}

export function fromStorageFailure(failure: StorageFailure): QueueError {
  return new QueueError(failure.code, { message: failure.message, details: failure.details });
}
