/**
 * The unsharded queues: one table with one ordered index in one file that all instances open, as job tables work. A
 * dequeue claims rows in a small transaction that need not be synced (a claim lost in a power cut is a message that is
 * ready again); the commit deletes them and is synced. `docs/data-layout.md` shows the tables.
 */
import { join } from 'node:path';
import { QueueError } from '../core/errors.ts';
import { Checkpoints } from './checkpoint.ts';
import { FileHealth } from './file-health.ts';
import { migrate } from './format.ts';
import { consecutive } from './id-runs.ts';
import { processStarted } from './process-identity.ts';
import type { SessionOutcome } from './session-outcome.ts';
import { isFull, mapSqliteErrors, openSqlite, type SqliteFile, type SqliteStatement } from './sqlite.ts';
import { UnshardedOutcomes, unshardedOutcomeStep } from './unsharded-outcomes.ts';

const steps = [
  `CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue_id INTEGER NOT NULL,
    held_by INTEGER NOT NULL DEFAULT 0, -- 0: ready; else the holder that handed it out
    delivery_count INTEGER NOT NULL DEFAULT 0,
    record BLOB NOT NULL
  ) STRICT;
  CREATE INDEX message_by_order ON message (queue_id, held_by, id);
  CREATE TABLE queue_total (
    queue_id INTEGER PRIMARY KEY,
    enqueued INTEGER NOT NULL,
    consumed INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE holder (
    holder INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL
  ) STRICT;`,
  unshardedOutcomeStep,
];

export interface ClaimedRow {
  id: number;
  deliveryCount: number;
  record: Buffer;
}

export interface UnshardedChange {
  enqueued: { queueId: number; record: Buffer }[];
  consumed: { queueId: number; id: number }[];
  sync: 'FULL' | 'NORMAL';
  /** For a remote session: stored with the commit. */
  outcome?: { session: Buffer; no: number; instance: number } | undefined;
}

/** Claimed so many rows; the rows came in no particular order from SQLite, and are sorted here. */
const claimSql = `
  UPDATE message SET held_by = ?, delivery_count = delivery_count + 1
  WHERE id IN (SELECT id FROM message WHERE queue_id = ? AND held_by = 0 ORDER BY id LIMIT ?)
  RETURNING id, delivery_count AS deliveryCount, record`;

export function unshardedPath(dir: string): string {
  return join(dir, 'unsharded.db');
}

export class UnshardedFile {
  readonly #file: SqliteFile;
  readonly #path: string;
  readonly #health: FileHealth;
  readonly #checkpoints: Checkpoints;
  readonly #holder: number;
  #sync: 'FULL' | 'NORMAL' = 'FULL';
  readonly #insert: SqliteStatement;
  readonly #delete: SqliteStatement;
  readonly #addTotals: SqliteStatement;
  readonly #claim: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #anyReady: SqliteStatement;
  readonly #dataVersion: SqliteStatement;
  readonly #outcomes: UnshardedOutcomes;

  /**
   * Opens or makes the file; gives back what dead processes held, and removes messages of queues that are not among
   * `queueIds()`. Another process may be writing: opening waits for it up to five seconds. `onFailed`: it can be written
   * no more by this process.
   */
  constructor(dir: string, queueIds: () => readonly number[], onFailed: (error: QueueError) => void) {
    this.#path = unshardedPath(dir);
    this.#file = openSqlite({ path: this.#path, busyMs: 5_000 });
    mapSqliteErrors(this.#path, () => migrate(this.#file, steps));
    this.#health = new FileHealth(this.#path, onFailed);
    this.#checkpoints = new Checkpoints(this.#file);
    this.#insert = this.#file.prepare('INSERT INTO message (queue_id, record) VALUES (?, ?)');
    this.#delete = this.#file.prepare('DELETE FROM message WHERE id = ? AND held_by = ?');
    this.#addTotals = this.#file.prepare(
      `INSERT INTO queue_total VALUES (?, ?, ?) ON CONFLICT (queue_id)
       DO UPDATE SET enqueued = enqueued + excluded.enqueued, consumed = consumed + excluded.consumed`,
    );
    this.#claim = this.#file.prepare(claimSql);
    this.#release = this.#file.prepare('UPDATE message SET held_by = 0 WHERE id = ? AND held_by = ?');
    this.#anyReady = this.#file
      .prepare('SELECT 1 FROM message WHERE queue_id = ? AND held_by = 0 LIMIT 1')
      .pluck();
    this.#dataVersion = this.#file.prepare('PRAGMA data_version').pluck();
    this.#outcomes = new UnshardedOutcomes(this.#file);
    this.#holder = mapSqliteErrors(this.#path, () =>
      Number(
        this.#file
          .prepare('INSERT INTO holder (pid, pid_started) VALUES (?, ?)')
          .run(process.pid, processStarted(process.pid) ?? '').lastInsertRowid,
      ),
    );
    this.releaseOfTheDead();
    const known = this.#file.prepare('SELECT queue_id FROM queue_total').pluck().all() as number[];
    const live = queueIds(); // asked after `known` was read: a queue made meanwhile is not among the known ones
    for (const queueId of known) if (!live.includes(queueId)) this.drop(queueId);
    this.#file.pragma('busy_timeout = 0'); // from here on a wait is ours to measure
  }

  /** Whether the write lock is taken by someone who did not ask for it first; the caller tries again. */
  static isBusy(error: unknown): boolean {
    return error instanceof QueueError && String(error.details.sqlite ?? '').startsWith('SQLITE_BUSY');
  }

  /** Messages in and out in one transaction, synced; returns the ids of those that went in. */
  commit(change: UnshardedChange): number[] {
    // Roughly what it adds to the log: a deleted row touches the page it lay on.
    const bytes = change.enqueued.reduce(
      (sum, { record }) => sum + record.byteLength,
      change.consumed.length * 512,
    );
    const work = () => {
      const totals = new Map<number, { enqueued: number; consumed: number }>();
      const totalOf = (queueId: number) => {
        let total = totals.get(queueId);
        if (total === undefined) {
          total = { enqueued: 0, consumed: 0 };
          totals.set(queueId, total);
        }
        return total;
      };
      const ids: number[] = [];
      for (const { queueId, record } of change.enqueued) {
        ids.push(Number(this.#insert.run(queueId, record).lastInsertRowid));
        totalOf(queueId).enqueued += 1;
      }
      for (const { queueId, id } of change.consumed) {
        if (this.#delete.run(id, this.#holder).changes !== 1) {
          throw new QueueError('STORAGE_FAILED', {
            sentence: `Message ${id} is not held by this process any more`,
          });
        }
        totalOf(queueId).consumed += 1;
      }
      for (const [queueId, total] of totals) this.#addTotals.run(queueId, total.enqueued, total.consumed);
      const { outcome } = change;
      if (outcome !== undefined) {
        const { session, no, instance } = outcome;
        this.#outcomes.store(instance, { session, no, runs: consecutive(ids) });
      }
      return ids;
    };
    return this.#write(change.sync, work, bytes);
  }

  /** Of remote sessions that `instance` serves. */
  outcomes(instance: number): SessionOutcome[] {
    return mapSqliteErrors(this.#path, () => this.#outcomes.read(instance));
  }

  /** Removes the outcomes of sessions that nobody will ask for. */
  forget(sessions: readonly Buffer[]): void {
    this.#write('NORMAL', () => {
      for (const session of sessions) this.#outcomes.forget(session);
    });
  }

  /** Hands out up to `max` ready messages in order. Relies on `message_by_order`. */
  claim(queueId: number, max: number): ClaimedRow[] {
    if (!this.anyReady(queueId)) return [];
    const rows = this.#write('NORMAL', () => this.#claim.all(this.#holder, queueId, max) as ClaimedRow[]);
    return rows.sort((a, b) => a.id - b.id);
  }

  anyReady(queueId: number): boolean {
    return mapSqliteErrors(this.#path, () => this.#anyReady.get(queueId) !== undefined);
  }

  release(ids: readonly number[]): void {
    this.#write('NORMAL', () => {
      for (const id of ids) this.#release.run(id, this.#holder);
    });
  }

  /** Gives back what processes held that are gone; returns how many messages that were. */
  releaseOfTheDead(): number {
    const holders = this.#file.prepare('SELECT holder, pid, pid_started AS started FROM holder').all() as {
      holder: number;
      pid: number;
      started: string;
    }[];
    const dead = holders.filter(
      ({ holder, pid, started }) => holder !== this.#holder && processStarted(pid) !== started,
    );
    if (dead.length === 0) return 0;
    return this.#write('FULL', () => {
      let released = 0;
      for (const { holder } of dead) {
        released += this.#file
          .prepare('UPDATE message SET held_by = 0 WHERE held_by = ?')
          .run(holder).changes;
        this.#file.prepare('DELETE FROM holder WHERE holder = ?').run(holder);
      }
      return released;
    });
  }

  /** Changes whenever another process committed. */
  version(): number {
    return mapSqliteErrors(this.#path, () => this.#dataVersion.get() as number);
  }

  counts(queueId: number): { ready: number; held: number; enqueued: number; consumed: number } {
    return mapSqliteErrors(this.#path, () => {
      const total = this.#file
        .prepare('SELECT enqueued, consumed FROM queue_total WHERE queue_id = ?')
        .get(queueId) as { enqueued: number; consumed: number } | undefined;
      const { enqueued, consumed } = total ?? { enqueued: 0, consumed: 0 };
      const held = this.#file
        .prepare('SELECT count(*) FROM message WHERE queue_id = ? AND held_by > 0')
        .pluck()
        .get(queueId) as number;
      return { enqueued, consumed, held, ready: enqueued - consumed - held };
    });
  }

  /** Live messages above `afterId`, in order. */
  browse(queueId: number, afterId: number, limit: number): (ClaimedRow & { heldBy: number })[] {
    return mapSqliteErrors(
      this.#path,
      () =>
        this.#file
          .prepare(
            `SELECT id, held_by AS heldBy, delivery_count AS deliveryCount, record FROM message
             WHERE queue_id = ? AND id > ? ORDER BY id LIMIT ?`,
          )
          .all(queueId, afterId, limit) as (ClaimedRow & { heldBy: number })[],
    );
  }

  drop(queueId: number): void {
    this.#write('FULL', () => {
      this.#file.prepare('DELETE FROM message WHERE queue_id = ?').run(queueId);
      this.#file.prepare('DELETE FROM queue_total WHERE queue_id = ?').run(queueId);
    });
  }

  #write<T>(sync: 'FULL' | 'NORMAL', work: () => T, bytes = 0): T {
    const result = this.#health.run(() => {
      if (sync !== this.#sync) {
        this.#file.pragma(`synchronous = ${sync}`);
        this.#sync = sync;
      }
      this.#file.exec('BEGIN IMMEDIATE');
      try {
        const done = work();
        this.#file.exec('COMMIT');
        return done;
      } catch (error) {
        if (this.#file.inTransaction) this.#file.exec('ROLLBACK');
        if (isFull(error)) this.#checkpoints.now(); // as in `instance-file.ts`
        throw error;
      }
    });
    this.#health.maintain(() => this.#checkpoints.afterCommit(bytes));
    return result;
  }

  /** Leaves no holds behind, and no outcomes of the sessions `forgotten`. */
  close(forgotten: readonly Buffer[] = []): void {
    try {
      this.#file.pragma('busy_timeout = 5000');
      this.#write('FULL', () => {
        this.#file.prepare('UPDATE message SET held_by = 0 WHERE held_by = ?').run(this.#holder);
        this.#file.prepare('DELETE FROM holder WHERE holder = ?').run(this.#holder);
        for (const session of forgotten) this.#outcomes.forget(session);
      });
    } finally {
      this.#file.close();
    }
  }
}
