/**
 * Checkpoints of a file's write-ahead log, run by the committing thread between commits. SQLite's automatic ones are off
 * because they ignore errors: the next one would repeat a failed sync, and a sync that succeeds after a failed one says
 * nothing about the data of the first (`docs/decisions/failed-sync.md`).
 */
import { isDiskFull, type SqliteFile, type SqliteStatement } from './open-sqlite.ts';

/** Frames of 16 KiB that start a checkpoint: under full load the log stayed at 33 MB, with a p99 of 1.8 ms. */
const logFramesMax = 2_000;
/** Commits and bytes between two checks of the log's length; a check costs 2.4 µs. */
const commitsBetweenChecks = 32;
const bytesBetweenChecks = 4 * 1024 * 1024;

export class CheckpointScheduler {
  readonly #selectLogFrames: SqliteStatement;
  readonly #checkpointPassive: SqliteStatement;
  #commitsSinceCheck = 0;
  #bytesSinceCheck = 0;

  constructor(file: SqliteFile) {
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

  /** Readers, other processes or a full disk may keep it from completing: then the next one continues. */
  runPassive(): void {
    try {
      this.#checkpointPassive.get();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }
}
