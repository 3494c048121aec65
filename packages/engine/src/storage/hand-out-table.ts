/**
 * Which messages of the unsharded queues are handed out. Messages are first handed out in the order of their ids, so those
 * that never were are the ones above the highest id here: finding the next one costs a step down each of two indexes
 * however many are held, and neither the wide row nor the index of messages changes until the message goes.
 *
 * `+` and `+ 0` before or after a bound value look idle and are not: where the value might change the plan (a limit, a
 * holder that might satisfy the condition of `hand_out_returned`), SQLite compiles the statement anew each time the value
 * is bound, 4 to 16 µs where running it takes 0.5.
 */
import type { SqliteFile, SqliteStatement } from './sqlite.ts';

export interface ClaimedRow {
  id: number;
  deliveryCount: number;
  record: Buffer;
}

/** Each method but `anyReady` and `held` is called inside a write transaction. */
export class HandOutTable {
  readonly #holder: number;
  readonly #anyReturned: SqliteStatement;
  readonly #returned: SqliteStatement;
  readonly #holdReturned: SqliteStatement;
  readonly #lastId: SqliteStatement;
  readonly #anyFresh: SqliteStatement;
  readonly #fresh: SqliteStatement;
  readonly #holdFresh: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #remove: SqliteStatement;
  readonly #held: SqliteStatement;

  /** `holder` names this process in the rows that it makes. */
  constructor(file: SqliteFile, holder: number) {
    this.#holder = holder;
    this.#anyReturned = file
      .prepare('SELECT 1 FROM hand_out WHERE queue_id = ? AND holder = 0 LIMIT 1')
      .pluck();
    this.#returned = file.prepare(
      `SELECT hand_out.id, delivery_count + 1 AS deliveryCount, record FROM hand_out JOIN message USING (id)
       WHERE hand_out.queue_id = ? AND holder = 0 ORDER BY hand_out.id LIMIT ? + 0`,
    );
    this.#holdReturned = file.prepare(
      `UPDATE hand_out SET holder = ?, delivery_count = delivery_count + 1
       WHERE queue_id = ? AND holder = 0 AND id <= ?`,
    );
    this.#lastId = file.prepare('SELECT max(id) FROM hand_out WHERE queue_id = ? + 0').pluck();
    this.#anyFresh = file.prepare('SELECT 1 FROM message WHERE queue_id = ? AND id > ? LIMIT 1').pluck();
    this.#fresh = file.prepare(
      `SELECT id, 1 AS deliveryCount, record FROM message
       WHERE queue_id = ? AND id > ? ORDER BY id LIMIT ? + 0`,
    );
    this.#holdFresh = file.prepare(
      `INSERT INTO hand_out SELECT queue_id, id, ?, 1 FROM message WHERE queue_id = ? AND id BETWEEN ? AND ?`,
    );
    this.#release = file.prepare(
      'UPDATE hand_out SET holder = 0 WHERE queue_id = ? AND id = ? AND +holder = ?',
    );
    this.#remove = file.prepare(
      'DELETE FROM hand_out WHERE queue_id = ? AND id >= ? AND id < ? AND +holder = ?',
    );
    this.#held = file.prepare('SELECT count(*) FROM hand_out WHERE queue_id = ? AND holder > 0').pluck();
  }

  anyReady(queueId: number): boolean {
    return this.#isAnyReturned(queueId) || this.#anyFresh.get(queueId, this.#lastHandedOut(queueId)) === 1;
  }

  #isAnyReturned(queueId: number): boolean {
    return this.#anyReturned.get(queueId) === 1;
  }

  /** Messages above it were never handed out. */
  #lastHandedOut(queueId: number): number {
    return (this.#lastId.get(queueId) as number | null) ?? 0;
  }

  /** Hands out up to `max` ready messages in order: first those that came back, which are the oldest. */
  claim(queueId: number, max: number): ClaimedRow[] {
    const returned = this.#claimReturned(queueId, max);
    if (returned.length === max) return returned;
    const fresh = this.#claimFresh(queueId, max - returned.length);
    return returned.length === 0 ? fresh : [...returned, ...fresh];
  }

  #claimReturned(queueId: number, max: number): ClaimedRow[] {
    if (!this.#isAnyReturned(queueId)) return [];
    const rows = this.#returned.all(queueId, max) as ClaimedRow[];
    this.#holdReturned.run(this.#holder, queueId, rows.at(-1)!.id);
    return rows;
  }

  #claimFresh(queueId: number, max: number): ClaimedRow[] {
    const rows = this.#fresh.all(queueId, this.#lastHandedOut(queueId), max) as ClaimedRow[];
    if (rows.length > 0) this.#holdFresh.run(this.#holder, queueId, rows[0]!.id, rows.at(-1)!.id);
    return rows;
  }

  release(queueId: number, id: number): void {
    this.#release.run(queueId, id, this.#holder);
  }

  /** Ends the hand-outs of a run of ids; returns how many of them this process held. */
  remove(queueId: number, firstId: number, endId: number): number {
    return this.#remove.run(queueId, firstId, endId, this.#holder).changes;
  }

  held(queueId: number): number {
    return this.#held.get(queueId) as number;
  }
}
