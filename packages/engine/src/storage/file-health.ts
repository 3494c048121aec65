/**
 * Whether this process may still write to a file. After a write or a sync that failed nothing is known about what the
 * disk holds, and trying again could only hide it: every later write is refused with `INSTANCE_FAILED`, and opening the
 * file anew finds out what is there (`docs/decisions/failed-sync.md`).
 */
import { QueueError } from '../core/errors.ts';
import { mapSqliteErrors, toQueueError } from './sqlite.ts';

export class FileHealth {
  readonly #path: string;
  readonly #onFailed: (error: QueueError) => void;
  #failed: QueueError | undefined;

  /** `onFailed` is called once: the instance is to end. */
  constructor(path: string, onFailed: (error: QueueError) => void) {
    this.#path = path;
    this.#onFailed = onFailed;
  }

  /** Work that a caller waits for. Throws the typed error. */
  run<T>(work: () => T): T {
    if (this.#failed !== undefined) throw this.#failed;
    try {
      return mapSqliteErrors(this.#path, work);
    } catch (error) {
      if (isFailedWrite(error)) throw this.#fail(error);
      throw error;
    }
  }

  /** Work that nobody waits for, on what is durable already: the next call learns of its failure. */
  maintain(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(toQueueError(error, this.#path));
    }
  }

  #fail(cause: QueueError): QueueError {
    this.#failed = new QueueError('INSTANCE_FAILED', {
      sentence: `A write to ${this.#path} failed, and what reached the disk is not known: ${cause.message}`,
      details: { cause: cause.code, ...cause.details },
      cause,
    });
    this.#onFailed(this.#failed);
    return this.#failed;
  }
}

/** A full disk is none: SQLite knows what it did not write then. */
function isFailedWrite(error: unknown): error is QueueError {
  return error instanceof QueueError && String(error.details.sqlite ?? '').startsWith('SQLITE_IOERR');
}
