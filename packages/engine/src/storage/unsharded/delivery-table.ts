/**
 * Deliveries of messages of the unsharded queues. Messages are delivered in the order of their ids for the first time, so
 * those above the highest id here were never delivered. Finding the next one costs one step down each of two indexes,
 * however many are held, and the message's row and index entry do not change until it is consumed.
 *
 * `+` and `+ 0` beside a bound value keep SQLite from compiling the statement again each time the value is bound, where
 * the value could change the plan (a limit, or a holder that could satisfy the condition of `delivery_returned`): 4 to 16 µs
 * against 0.5 for running it.
 */
import type { QueueId } from '../../model/ids.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';

export interface ClaimedRow {
  id: number;
  deliveryCount: number;
  record: Buffer;
}

/** All methods but `hasReady` and `countHeld` are called inside a write transaction. */
export class DeliveryTable {
  readonly #holder: number;
  readonly #selectAnyReturned: SqliteStatement;
  readonly #selectReturned: SqliteStatement;
  readonly #holdReturnedThrough: SqliteStatement;
  readonly #selectLastDeliveredId: SqliteStatement;
  readonly #selectAnyUndelivered: SqliteStatement;
  readonly #selectUndelivered: SqliteStatement;
  readonly #insertDeliveries: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #deleteRange: SqliteStatement;
  readonly #selectHeldCount: SqliteStatement;

  /** `holder` identifies this process in its rows. */
  constructor(file: SqliteFile, holder: number) {
    this.#holder = holder;
    this.#selectAnyReturned = file
      .prepare('SELECT 1 FROM delivery WHERE queue_id = ? AND holder = 0 LIMIT 1')
      .pluck();
    this.#selectReturned = file.prepare(
      `SELECT delivery.id, delivery_count + 1 AS deliveryCount, record FROM delivery JOIN message USING (id)
       WHERE delivery.queue_id = ? AND holder = 0 ORDER BY delivery.id LIMIT ? + 0`,
    );
    this.#holdReturnedThrough = file.prepare(
      `UPDATE delivery SET holder = ?, delivery_count = delivery_count + 1
       WHERE queue_id = ? AND holder = 0 AND id <= ?`,
    );
    this.#selectLastDeliveredId = file.prepare('SELECT max(id) FROM delivery WHERE queue_id = ? + 0').pluck();
    this.#selectAnyUndelivered = file
      .prepare('SELECT 1 FROM message WHERE queue_id = ? AND id > ? LIMIT 1')
      .pluck();
    this.#selectUndelivered = file.prepare(
      `SELECT id, 1 AS deliveryCount, record FROM message
       WHERE queue_id = ? AND id > ? ORDER BY id LIMIT ? + 0`,
    );
    this.#insertDeliveries = file.prepare(
      `INSERT INTO delivery SELECT queue_id, id, ?, 1 FROM message WHERE queue_id = ? AND id BETWEEN ? AND ?`,
    );
    this.#release = file.prepare(
      'UPDATE delivery SET holder = 0 WHERE queue_id = ? AND id = ? AND +holder = ?',
    );
    this.#deleteRange = file.prepare(
      'DELETE FROM delivery WHERE queue_id = ? AND id >= ? AND id < ? AND +holder = ?',
    );
    this.#selectHeldCount = file
      .prepare('SELECT count(*) FROM delivery WHERE queue_id = ? AND holder > 0')
      .pluck();
  }

  hasReady(queueId: QueueId): boolean {
    return (
      this.#hasReturned(queueId) ||
      this.#selectAnyUndelivered.get(queueId, this.#lastDeliveredId(queueId)) === 1
    );
  }

  #hasReturned(queueId: QueueId): boolean {
    return this.#selectAnyReturned.get(queueId) === 1;
  }

  /** Messages above it were never delivered. */
  #lastDeliveredId(queueId: QueueId): number {
    return (this.#selectLastDeliveredId.get(queueId) as number | null) ?? 0;
  }

  /** Delivers up to `max` ready messages in order: first the returned ones, which are the oldest. */
  claim(queueId: QueueId, max: number): ClaimedRow[] {
    const returned = this.#claimReturned(queueId, max);
    if (returned.length === max) return returned;
    const undelivered = this.#claimUndelivered(queueId, max - returned.length);
    return returned.length === 0 ? undelivered : [...returned, ...undelivered];
  }

  #claimReturned(queueId: QueueId, max: number): ClaimedRow[] {
    if (!this.#hasReturned(queueId)) return [];
    const rows = this.#selectReturned.all(queueId, max) as ClaimedRow[];
    this.#holdReturnedThrough.run(this.#holder, queueId, rows.at(-1)!.id);
    return rows;
  }

  #claimUndelivered(queueId: QueueId, max: number): ClaimedRow[] {
    const rows = this.#selectUndelivered.all(queueId, this.#lastDeliveredId(queueId), max) as ClaimedRow[];
    if (rows.length > 0) this.#insertDeliveries.run(this.#holder, queueId, rows[0]!.id, rows.at(-1)!.id);
    return rows;
  }

  release(queueId: QueueId, id: number): void {
    this.#release.run(queueId, id, this.#holder);
  }

  /** Deletes the deliveries of a run of ids; returns how many of them this process held. */
  removeRange(queueId: QueueId, firstId: number, endId: number): number {
    return this.#deleteRange.run(queueId, firstId, endId, this.#holder).changes;
  }

  countHeld(queueId: QueueId): number {
    return this.#selectHeldCount.get(queueId) as number;
  }
}
