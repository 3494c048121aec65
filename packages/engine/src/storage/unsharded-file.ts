/**
 * The unsharded queues: one table with one ordered index in one file that all instances open, as job tables work. A
 * dequeue claims rows in a small transaction that need not be synced (a claim lost in a power cut is a message that is
 * ready again); the commit deletes them and is synced. `docs/data-layout.md` shows the tables.
 */
import { join } from 'node:path';
import { QueueError } from '../core/errors.ts';
import type { Flow } from '../core/rate-window.ts';
import { Checkpoints } from './checkpoint.ts';
import { FileHealth } from './file-health.ts';
import { migrate } from './format.ts';
import { type ClaimedRow, HandOutTable } from './hand-out-table.ts';
import type { IdRun } from './id-runs.ts';
import { type EnqueuedRow, MessageTable } from './message-table.ts';
import { processStarted } from './process-identity.ts';
import { RateMarks } from './rate-mark-table.ts';
import type { SessionOutcome } from './session-outcome.ts';
import {
  isCheckFailed,
  isFull,
  mapSqliteErrors,
  openSqlite,
  type SqliteFile,
  type SqliteStatement,
} from './sqlite.ts';
import { UnshardedOutcomes } from './unsharded-outcomes.ts';
import { unshardedSteps } from './unsharded-schema.ts';

export type { ClaimedRow };

export interface UnshardedChange {
  enqueued: EnqueuedRow[];
  consumed: { queueId: number; id: number }[];
  sync: 'FULL' | 'NORMAL';
  /** For a remote session: stored with the commit. */
  outcome?: { session: Buffer; no: number; instance: number } | undefined;
}

/**
 * Pages of 4 KiB where an instance's file has 16: a commit of ten messages changes five pages wherever they lie, and here
 * every process writes its own small transactions (measured at 10 a transaction: 12 µs of CPU a message in and out
 * against 18; at 1,000: 4.0 against 3.7).
 */
const pageBytes = 4_096;

/** A queue of the catalog. */
export interface NamedQueue {
  queueId: number;
  name: string;
}

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
  readonly #begin: SqliteStatement;
  readonly #commit: SqliteStatement;
  readonly #messages: MessageTable;
  readonly #handOuts: HandOutTable;
  readonly #rateMarks: RateMarks;
  readonly #addTotals: SqliteStatement;
  readonly #dataVersion: SqliteStatement;
  readonly #outcomes: UnshardedOutcomes;

  /**
   * Opens or makes the file; gives back what dead processes held, and removes messages of queues that are not among
   * `queues()`. Another process may be writing: opening waits for it up to five seconds. `onFailed`: it can be written
   * no more by this process.
   */
  constructor(dir: string, queues: () => readonly NamedQueue[], onFailed: (error: QueueError) => void) {
    this.#path = unshardedPath(dir);
    this.#file = openSqlite({ path: this.#path, busyMs: 5_000, pageBytes });
    mapSqliteErrors(this.#path, () => migrate(this.#file, unshardedSteps));
    this.#health = new FileHealth(this.#path, onFailed);
    this.#checkpoints = new Checkpoints(this.#file);
    this.#begin = this.#file.prepare('BEGIN IMMEDIATE');
    this.#commit = this.#file.prepare('COMMIT');
    this.#rateMarks = new RateMarks(this.#file, (queueId) => nameIn(queues, queueId));
    this.#addTotals = this.#file.prepare(
      `INSERT INTO queue_total (queue_id, enqueued, consumed) VALUES (?, ?, ?) ON CONFLICT (queue_id)
       DO UPDATE SET enqueued = enqueued + excluded.enqueued, consumed = consumed + excluded.consumed`,
    );
    this.#dataVersion = this.#file.prepare('PRAGMA data_version').pluck();
    this.#outcomes = new UnshardedOutcomes(this.#file);
    this.#holder = mapSqliteErrors(this.#path, () =>
      Number(
        this.#file
          .prepare('INSERT INTO holder (pid, pid_started) VALUES (?, ?)')
          .run(process.pid, processStarted(process.pid) ?? '').lastInsertRowid,
      ),
    );
    this.#messages = new MessageTable(this.#file);
    this.#handOuts = new HandOutTable(this.#file, this.#holder);
    this.releaseOfTheDead();
    const known = this.#file
      .prepare('SELECT queue_id FROM queue_total WHERE queue_id > 0 AND sealed_at IS NULL')
      .pluck()
      .all() as number[];
    const live = queues().map(({ queueId }) => queueId); // asked after `known` was read: a queue made meanwhile is not among the known ones
    for (const queueId of known) if (!live.includes(queueId)) this.drop(queueId);
    this.#file.pragma('busy_timeout = 0'); // from here on a wait is ours to measure
  }

  /** Whether the write lock is taken by someone who did not ask for it first; the caller tries again. */
  static isBusy(error: unknown): boolean {
    return error instanceof QueueError && String(error.details.sqlite ?? '').startsWith('SQLITE_BUSY');
  }

  /** Messages in and out in one transaction, synced; returns the ids of those that went in. */
  commit(change: UnshardedChange): IdRun[] {
    // Roughly what it adds to the log: a deleted row touches the page it lay on.
    const bytes = change.enqueued.reduce(
      (sum, { record }) => sum + record.byteLength,
      change.consumed.length * 512,
    );
    return this.#write(change.sync, () => this.#apply(change), bytes);
  }

  #apply({ enqueued, consumed, outcome }: UnshardedChange): IdRun[] {
    const totals = new Map<number, { enqueued: number; consumed: number }>();
    const totalOf = (queueId: number) => {
      let total = totals.get(queueId);
      if (total === undefined) {
        total = { enqueued: 0, consumed: 0 };
        totals.set(queueId, total);
      }
      return total;
    };
    const runs: IdRun[] = [];
    if (enqueued.length > 0) {
      runs.push({ shard: 0, firstSeq: this.#messages.insert(enqueued), count: enqueued.length });
    }
    for (const { queueId } of enqueued) totalOf(queueId).enqueued += 1;
    for (const { queueId, firstId: first, endId } of runsOf(consumed)) {
      this.#remove(queueId, first, endId);
      totalOf(queueId).consumed += endId - first;
    }
    for (const [queueId, total] of totals) {
      this.#rateMarks.beforeCommit(queueId);
      this.#addTotal(queueId, total);
    }
    if (outcome !== undefined) {
      const { session, no, instance } = outcome;
      this.#outcomes.store(instance, { session, no, runs });
    }
    return runs;
  }

  /** Throws `ENQUEUE_STOPPED` if the queue is sealed. */
  #addTotal(queueId: number, { enqueued, consumed }: { enqueued: number; consumed: number }): void {
    try {
      this.#addTotals.run(queueId, enqueued, consumed);
    } catch (error) {
      if (!isCheckFailed(error)) throw error;
      throw new QueueError('ENQUEUE_STOPPED', { details: { queueId }, cause: error });
    }
  }

  #remove(queueId: number, firstId: number, endId: number): void {
    const count = endId - firstId;
    const held = this.#handOuts.remove(queueId, firstId, endId);
    if (held === count && this.#messages.remove(firstId, endId) === count) return;
    throw new QueueError('STORAGE_FAILED', {
      sentence: `Of the messages from ${firstId} on, ${count} were to be consumed and this process holds ${held}`,
    });
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

  /** Hands out up to `max` ready messages in order. */
  claim(queueId: number, max: number): ClaimedRow[] {
    return this.#write('NORMAL', () => this.#handOuts.claim(queueId, max));
  }

  anyReady(queueId: number): boolean {
    return mapSqliteErrors(this.#path, () => this.#handOuts.anyReady(queueId));
  }

  release(held: readonly { queueId: number; id: number }[]): void {
    this.#write('NORMAL', () => {
      for (const { queueId, id } of held) this.#handOuts.release(queueId, id);
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
        released += this.#releaseAllOf(holder);
      }
      return released;
    });
  }

  #releaseAllOf(holder: number): number {
    const { changes } = this.#file.prepare('UPDATE hand_out SET holder = 0 WHERE holder = ?').run(holder);
    this.#file.prepare('DELETE FROM holder WHERE holder = ?').run(holder);
    return changes;
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
      const held = this.#handOuts.held(queueId);
      return { enqueued, consumed, held, ready: enqueued - consumed - held };
    });
  }

  /** What came and went lately, whoever committed it. */
  flow(queueId: number): Flow {
    return mapSqliteErrors(this.#path, () => {
      const mark = this.#rateMarks.from(queueId);
      if (mark === undefined) return { windowMs: 0, windowIn: 0, windowOut: 0 };
      const { enqueued, consumed } = this.counts(queueId);
      return {
        windowMs: Math.max(0, Date.now() - mark.fromMs),
        windowIn: enqueued - mark.fromEnqueued,
        windowOut: consumed - mark.fromConsumed,
      };
    });
  }

  /** Live messages above `afterId`, in order. */
  browse(queueId: number, afterId: number, limit: number): (ClaimedRow & { heldBy: number })[] {
    return mapSqliteErrors(
      this.#path,
      () =>
        this.#file
          .prepare(
            `SELECT message.id, coalesce(holder, 0) AS heldBy, coalesce(delivery_count, 0) AS deliveryCount, record
             FROM message LEFT JOIN hand_out USING (queue_id, id)
             WHERE message.queue_id = ? AND message.id > ? ORDER BY message.id LIMIT ?`,
          )
          .all(queueId, afterId, limit) as (ClaimedRow & { heldBy: number })[],
    );
  }

  /** From now on no commit of any process enqueues to it. */
  seal(queueId: number): void {
    this.#write('FULL', () =>
      this.#file
        .prepare(
          `INSERT INTO queue_total (queue_id, enqueued, consumed, sealed_at) VALUES (?, 0, 0, 0)
           ON CONFLICT (queue_id) DO UPDATE SET sealed_at = enqueued`,
        )
        .run(queueId),
    );
  }

  unseal(queueId: number): void {
    this.#write('FULL', () =>
      this.#file.prepare('UPDATE queue_total SET sealed_at = NULL WHERE queue_id = ?').run(queueId),
    );
  }

  /** Messages that lie in the table, counted one by one: what the totals say must be what is there. */
  stored(queueId: number): number {
    return mapSqliteErrors(
      this.#path,
      () =>
        this.#file.prepare('SELECT count(*) FROM message WHERE queue_id = ?').pluck().get(queueId) as number,
    );
  }

  /** Removes what there is of a queue; of a sealed one, all but its seal. */
  drop(queueId: number): void {
    this.#write('FULL', () => {
      this.#file.prepare('DELETE FROM message WHERE queue_id = ?').run(queueId);
      this.#file.prepare('DELETE FROM hand_out WHERE queue_id = ?').run(queueId);
      this.#file.prepare('DELETE FROM queue_total WHERE queue_id = ? AND sealed_at IS NULL').run(queueId);
      this.#file.prepare('DELETE FROM rate_mark WHERE queue_id = ?').run(queueId);
    });
  }

  #write<T>(sync: 'FULL' | 'NORMAL', work: () => T, bytes = 0): T {
    const result = this.#health.run(() => {
      if (sync !== this.#sync) {
        this.#file.exec(`PRAGMA synchronous = ${sync}`); // a tenth of the time of `pragma`
        this.#sync = sync;
      }
      this.#begin.run();
      try {
        const done = work();
        this.#commit.run();
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
        this.#releaseAllOf(this.#holder);
        for (const session of forgotten) this.#outcomes.forget(session);
      });
    } finally {
      this.#file.close();
    }
  }
}

/** Undefined also if the catalog cannot be read now: no commit is to fail for a name. */
function nameIn(queues: () => readonly NamedQueue[], queueId: number): string | undefined {
  try {
    return queues().find((queue) => queue.queueId === queueId)?.name;
  } catch {
    return undefined;
  }
}

interface HeldRun {
  queueId: number;
  firstId: number;
  endId: number;
}

/** Messages of one queue with consecutive ids go together, as a dequeue handed them out. */
function runsOf(consumed: UnshardedChange['consumed']): HeldRun[] {
  const runs: HeldRun[] = [];
  for (const { queueId, id } of consumed) {
    const last = runs.at(-1);
    if (last?.queueId === queueId && last.endId === id) last.endId += 1;
    else runs.push({ queueId, firstId: id, endId: id + 1 });
  }
  return runs;
}
