/**
 * Whether this process may still write to a file. After a failed write or sync the content of the disk is unknown, and a retry
 * could only hide that. So every later write fails with `INSTANCE_FAILED`, until the file is opened again and recovered
 * (`docs/decisions/failed-sync.md`).
 */
import { QueueError } from '../../api/errors.ts';
import { mapSqliteErrors, toQueueError } from './open-sqlite.ts';

export class FileHealth {
  readonly #path: string;
  readonly #onFailed: (error: QueueError) => void;
  #failure: QueueError | undefined;

  /** `onFailed` is called once: the instance must end. */
  constructor(path: string, onFailed: (error: QueueError) => void) {
    this.#path = path;
    this.#onFailed = onFailed;
  }

  /** Work that a caller waits for. Throws the typed error. */
  run<T>(work: () => T): T {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return mapSqliteErrors(this.#path, work);
    } catch (error) {
      if (isFailedWrite(error)) throw this.#recordFailure(error);
      throw error;
    }
  }

  /** Work after the data is durable, which no caller waits for: its failure is reported to the next call. */
  runMaintenance(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#recordFailure(toQueueError(error, this.#path));
    }
  }

  #recordFailure(cause: QueueError): QueueError {
    this.#failure = new QueueError('INSTANCE_FAILED', {
      message: `A write to ${this.#path} failed, and it is unknown what reached the disk: ${cause.message}`,
      details: { cause: cause.code, ...cause.details },
      cause,
    });
    this.#onFailed(this.#failure);
    return this.#failure;
  }
}

/** A full disk is not one: SQLite rolls back what it could not write. */
function isFailedWrite(error: unknown): error is QueueError {
  return error instanceof QueueError && String(error.details.sqlite ?? '').startsWith('SQLITE_IOERR');
}
