/**
 * A writer's care of its database file's write-ahead log, beyond SQLite's own: it records the last acknowledged commit, so that a
 * damaged log is noticed, and it checkpoints the log between commits and bounds its size.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { makePrivate, privateFileMode } from '../private-files.ts';
import { isDiskFull, type SqliteFile, type SqliteStatement } from './open-sqlite.ts';
import { syncFolder } from './sync-folder.ts';

const slotBytes = 12;
const slotsMax = 32;

/**
 * The number of the last commit to a database file that was acknowledged as durable, kept beside that file. A damaged frame
 * of a write-ahead log makes SQLite drop its commit and every later one silently; by this number the next opening notices
 * (`docs/decisions/what-was-acknowledged.md`).
 *
 * It is written after the commit's sync and before its acknowledgement (measured: 0.6 µs), and not synced itself: a killed
 * process loses nothing of it, and after a power cut it may be older, but never newer, than the last commit in the log.
 *
 * Where several processes write to the database, each has a slot of its own by its pid, so that none overwrites a later
 * number with its own. Processes that share a slot write later numbers later, but for a moment between commit and write.
 *
 *     f64 number · u32 CRC-32 of those eight bytes, once for each slot
 */
export class AcknowledgedNumberFile {
  readonly #descriptor: number;
  readonly #position: number;
  readonly #content = Buffer.alloc(slotBytes);

  /** Opens or creates the file; the name of a new one is durable when this returns. `pid`: of this of several writers. */
  constructor(path: string, pid = 0) {
    this.#position = (pid % slotsMax) * slotBytes;
    const isNew = !existsSync(path);
    // Another process may create it at the same time: neither may truncate what the other has written.
    if (isNew) closeSync(openSync(path, 'a', privateFileMode));
    makePrivate(path);
    this.#descriptor = openSync(path, 'r+');
    if (isNew) syncFolder(dirname(path));
  }

  /** A failed write is ignored: the older number that stays is still right, only less exact. */
  write(acknowledged: number): void {
    try {
      this.#writeContent(acknowledged);
    } catch {}
  }

  #writeContent(acknowledged: number): void {
    this.#content.writeDoubleLE(acknowledged, 0);
    this.#content.writeUInt32LE(crc32(this.#content.subarray(0, 8)), 8);
    writeSync(this.#descriptor, this.#content, 0, slotBytes, this.#position);
  }

  /** Writes and syncs: when a file is opened, not for each commit. */
  writeDurably(acknowledged: number): void {
    this.#writeContent(acknowledged);
    fsyncSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** The file beside a database: `unsharded.db` has `unsharded.ack`. */
export function acknowledgedNumberPath(databasePath: string): string {
  return databasePath.replace(/\.db$/, '.ack');
}

/** The highest number in the file, or undefined if the file is missing or no slot of it is undamaged. */
export function readAcknowledgedNumber(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const content = readFileSync(path);
  let highest: number | undefined;
  for (let at = 0; at + slotBytes <= Math.min(content.length, slotsMax * slotBytes); at += slotBytes) {
    if (content.readUInt32LE(at + 8) !== crc32(content.subarray(at, at + 8))) continue;
    highest = Math.max(highest ?? 0, content.readDoubleLE(at));
  }
  return highest;
}

/** Frames of 16 KiB that start a checkpoint: under full load the log stayed at 33 MB, with a p99 of 1.8 ms. */
const logFramesMax = 2_000;
/** Commits and bytes between two checks of the log's length; a check costs 2.4 µs. */
const commitsBetweenChecks = 32;
const bytesBetweenChecks = 4 * 1024 * 1024;

/**
 * Checkpoints of a file's write-ahead log, run by the committing thread between commits. SQLite's automatic ones are off
 * because they ignore errors: the next one would repeat a failed sync, and a sync that succeeds after a failed one says
 * nothing about the data of the first (`docs/decisions/failed-sync.md`).
 *
 * A checkpoint ends at the oldest snapshot that a reader has open, and the log grows from there. Readers of the engine end
 * with the request that they answer; another process can keep one open for ever. So the log has a bound, at which commits
 * are refused until the reader has ended (`docs/decisions/bounded-logs.md`).
 */
export class CheckpointScheduler {
  readonly #selectLogFrames: SqliteStatement;
  readonly #checkpointPassive: SqliteStatement;
  readonly #logBytesMax: number;
  readonly #pageBytes: number;
  #commitsSinceCheck = 0;
  #bytesSinceCheck = 0;
  #isLogFull = false;
  /** Length of the log after the last checkpoint. */
  #logBytes = 0;

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
      const { busy, log, checkpointed } = this.#checkpointPassive.get() as CheckpointRow;
      // Another process is checkpointing, so SQLite has no numbers for this one: a log that was full may still be.
      if (busy === 1) return this.#logBytes;
      this.#logBytes = log * this.#pageBytes;
      // A log that was copied as a whole starts again at its beginning with the next commit, unless a reader prevents it:
      // then that commit is the only one.
      this.#isLogFull = this.#logBytes > this.#logBytesMax && checkpointed < log;
      return this.#logBytes;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      return 0;
    }
  }
}

/** What `PRAGMA wal_checkpoint` returns. */
interface CheckpointRow {
  /** 1: another connection has the lock of checkpoints; the other numbers are −1 then. */
  busy: 0 | 1;
  /** Frames in the log. */
  log: number;
  /** Of these, how many are in the database file. */
  checkpointed: number;
}
