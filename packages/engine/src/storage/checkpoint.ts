/**
 * Checkpoints of a file's write-ahead log, run by whoever commits, between commits. SQLite's automatic ones are off:
 * they ignore what goes wrong, so a failed sync would be tried again by the next one, and a sync that succeeds after a
 * failed one says nothing about what the first was to write (`docs/decisions/failed-sync.md`).
 */
import { isFull, type SqliteFile, type SqliteStatement } from './sqlite.ts';

/** A checkpoint runs past so many frames of 16 KiB: held a log at 33 MB with a p99 of 1.8 ms under full load. */
const framesMax = 2_000;
/** Between two looks at the length of the log; a look costs 2.4 µs. */
const commitsBetweenLooks = 32;
const bytesBetweenLooks = 4 * 1024 * 1024;

export class Checkpoints {
  readonly #length: SqliteStatement;
  readonly #passive: SqliteStatement;
  #commits = 0;
  #bytes = 0;

  constructor(file: SqliteFile) {
    this.#length = file.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#passive = file.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** After a commit of about so many bytes. Throws what SQLite throws: a failed sync above all. */
  afterCommit(bytes: number): void {
    this.#commits += 1;
    this.#bytes += bytes;
    if (this.#commits < commitsBetweenLooks && this.#bytes < bytesBetweenLooks) return;
    this.#commits = 0;
    this.#bytes = 0;
    const { log } = this.#length.get() as { log: number };
    if (log >= framesMax) this.now();
  }

  /** Readers and other processes may keep it from going all the way, or the file may have no room: the next one goes on. */
  now(): void {
    try {
      this.#passive.get();
    } catch (error) {
      if (!isFull(error)) throw error;
    }
  }
}
