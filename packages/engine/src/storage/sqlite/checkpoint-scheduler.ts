/**
 * Checkpoints of a file's write-ahead log, run by the committing thread between commits. SQLite's automatic ones are off
 * because they ignore errors: the next one would repeat a failed sync, and a sync that succeeds after a failed one says
 * nothing about the data of the first (`docs/decisions/failed-sync.md`).
 *
 * A checkpoint ends at the oldest snapshot that a reader has open, and the log grows from there. Readers of the engine end
 * with the request that they answer; another process can keep one open for ever. So the log has a bound, at which commits
 * are refused until the reader has ended (`docs/decisions/bounded-logs.md`).
 */
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { isDiskFull, type SqliteFile, type SqliteStatement } from './open-sqlite.ts';

/** Frames of 16 KiB that start a checkpoint: under full load the log stayed at 33 MB, with a p99 of 1.8 ms. */
const logFramesMax = 2_000;
/** Commits and bytes between two checks of the log's length; a check costs 2.4 µs. */
const commitsBetweenChecks = 32;
const bytesBetweenChecks = 4 * 1024 * 1024;

export class CheckpointScheduler {
  readonly #selectLogFrames: SqliteStatement;
  readonly #checkpointPassive: SqliteStatement;
  readonly #logBytesMax: number;
  readonly #pageBytes: number;
  #commitsSinceCheck = 0;
  #bytesSinceCheck = 0;
  #isLogFull = false;

  constructor(file: SqliteFile, logBytesMax: number = limits.logBytesMaxDefault) {
    this.#logBytesMax = logBytesMax;
    this.#pageBytes = file.pragma('page_size', { simple: true }) as number;
    this.#selectLogFrames = file.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#checkpointPassive = file.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** Call after a commit, with an estimate of its bytes. Throws SQLite's errors, above all a failed sync. */
  afterCommit(bytes: number): void {
    this.#commitsSinceCheck += 1;
    this.#bytesSinceCheck += bytes;
    if (this.#commitsSinceCheck < commitsBetweenChecks && this.#bytesSinceCheck < bytesBetweenChecks) return;
    this.#commitsSinceCheck = 0;
    this.#bytesSinceCheck = 0;
    const { log } = this.#selectLogFrames.get() as { log: number };
    if (log >= logFramesMax) this.runPassive();
  }

  /**
   * Call before a commit. Throws `LOG_FULL` while the log exceeds its bound and a reader keeps it from being reused: nothing
   * was written then. The first commit after the reader has ended is accepted.
   */
  assertLogFits(): void {
    if (!this.#isLogFull) return;
    const logBytes = this.runPassive();
    if (!this.#isLogFull) return;
    const details = { logBytes, logBytesMax: this.#logBytesMax };
    throw new QueueError('LOG_FULL', { details });
  }

  /**
   * Readers, other processes or a full disk may keep it from completing: then the next one continues. Returns the bytes of
   * the log, also of the part that was copied to the file.
   */
  runPassive(): number {
    try {
      const { log, checkpointed } = this.#checkpointPassive.get() as { log: number; checkpointed: number };
      const logBytes = log * this.#pageBytes;
      // A log that was copied as a whole starts again at its beginning with the next commit, unless a reader prevents it:
      // then that commit is the only one.
      this.#isLogFull = logBytes > this.#logBytesMax && checkpointed < log;
      return logBytes;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      return 0;
    }
  }
}
