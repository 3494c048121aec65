/**
 * Deliveries of messages of the unsharded queues. Messages are delivered in the order of their ids for the first time, so
 * those above the highest id here were never delivered. Finding the next one costs one step down each of two indexes,
 * however many are held, and the message's row and index entry do not change until it is consumed.
 *
 * `+` and `+ 0` beside a bound value keep SQLite from compiling the statement again each time the value is bound, where
 * the value could change the plan (a limit, a range, or a holder that could satisfy the condition of `delivery_returned`): 4 to 30 µs
 * against 0.5 to 3 for running it, since the binding makes a function for the rows of each compilation.
 */
import { QueueError } from '../../api/errors.ts';
import type { HolderId, QueueId, Seq } from '../../model/ids.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';
import { type ClaimBounds, type RecipientKey, takeWithin } from './message-consumer.ts';
import { isMessageUndamaged } from './message-table.ts';
import type { RecentRecords } from './recent-records.ts';

/** Each column has a prime of its own, so no change of one column goes unnoticed. SQLite computes it with every write. */
const rowChecksumSql = '(queue_id * 1000003 + id * 31 + holder * 8191 + delivery_count * 131071)';
/** Condition for statements that read or change a row. */
export const undamagedDeliverySql = `row_checksum = ${rowChecksumSql}`;

export const deliveryTableSql = `
  CREATE TABLE delivery (
    queue_id INTEGER NOT NULL,
    id INTEGER NOT NULL,             -- of a message that was delivered at least once
    holder INTEGER NOT NULL,         -- 0: the message was returned, and is ready again
    delivery_count INTEGER NOT NULL,
    row_checksum INTEGER GENERATED ALWAYS AS ${rowChecksumSql} STORED,
    PRIMARY KEY (queue_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX delivery_returned ON delivery (queue_id, id) WHERE holder = 0;
`;

export interface ClaimedRow {
  id: Seq;
  deliveryCount: number;
  /** Checksum of the message's row. */
  crc: number;
  record: Buffer;
  /** Set for a topic's message. */
  recipient?: RecipientKey | undefined;
}

type StoredClaim = ClaimedRow & { undamaged: number };

/** All methods but `hasReady` and `countHeld` are called inside a write transaction. A damaged row is `STORAGE_CORRUPT`. */
export class DeliveryTable {
  readonly #file: SqliteFile;
  readonly #recent: RecentRecords;
  readonly #selectAnyReturned: SqliteStatement;
  readonly #selectReturned: SqliteStatement;
  readonly #holdReturnedThrough: SqliteStatement;
  readonly #selectLastDelivered: SqliteStatement;
  readonly #selectAnyUndelivered: SqliteStatement;
  readonly #selectUndelivered: SqliteStatement;
  readonly #selectUndeliveredKeys: SqliteStatement;
  readonly #insertDeliveries: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #deleteRange: SqliteStatement;
  readonly #selectHeldCount: SqliteStatement;

  constructor(file: SqliteFile, recent: RecentRecords) {
    this.#file = file;
    this.#recent = recent;
    this.#selectAnyReturned = file
      .prepare('SELECT 1 FROM delivery WHERE queue_id = ? AND holder = 0 LIMIT 1')
      .pluck();
    this.#selectReturned = file.prepare(
      `SELECT delivery.id, delivery_count + 1 AS deliveryCount, crc, record,
         row_checksum = (delivery.queue_id * 1000003 + delivery.id * 31 + holder * 8191 + delivery_count * 131071)
           AS undamaged
       FROM delivery LEFT JOIN message USING (id)
       WHERE delivery.queue_id = ? AND holder = 0 ORDER BY delivery.id LIMIT ? + 0`,
    );
    this.#holdReturnedThrough = file.prepare(
      `UPDATE delivery SET holder = ?, delivery_count = delivery_count + 1
       WHERE queue_id = ? AND holder = 0 AND id <= ?`,
    );
    this.#selectLastDelivered = file.prepare(
      `SELECT id, ${undamagedDeliverySql} AS undamaged FROM delivery WHERE queue_id = ? + 0 ORDER BY id DESC LIMIT 1`,
    );
    this.#selectAnyUndelivered = file
      .prepare('SELECT 1 FROM message WHERE queue_id = ? AND id > ? LIMIT 1')
      .pluck();
    this.#selectUndelivered = file.prepare(
      `SELECT id, 1 AS deliveryCount, crc, record, 1 AS undamaged FROM message
       WHERE queue_id = ? + 0 AND id > ? + 0 ORDER BY id LIMIT ? + 0`,
    );
    this.#selectUndeliveredKeys = file
      .prepare('SELECT id, crc FROM message WHERE queue_id = ? + 0 AND id > ? + 0 ORDER BY id LIMIT ? + 0')
      .raw();
    this.#insertDeliveries = file.prepare(
      `INSERT INTO delivery (queue_id, id, holder, delivery_count) SELECT queue_id, id, ?, 1 FROM message WHERE queue_id = ? AND id BETWEEN ? AND ?`,
    );
    this.#release = file.prepare(
      `UPDATE delivery SET holder = 0, delivery_count = delivery_count - ?
       WHERE queue_id = ? AND id = ? AND +holder = ? AND ${undamagedDeliverySql}`,
    );
    this.#deleteRange = file.prepare(
      'DELETE FROM delivery WHERE queue_id = ? AND id >= ? AND id < ? AND +holder = ?',
    );
    this.#selectHeldCount = file
      .prepare(`SELECT count(*) FROM delivery WHERE queue_id = ? AND holder > 0 AND ${undamagedDeliverySql}`)
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
  #lastDeliveredId(queueId: QueueId): Seq {
    const last = this.#selectLastDelivered.get(queueId) as { id: Seq; undamaged: number } | undefined;
    if (last === undefined) return 0;
    if (last.undamaged !== 1) throw this.#damagedError(queueId, last.id);
    return last.id;
  }

  /**
   * Delivers ready messages in order: first the returned ones, which are the oldest. `holder` identifies the process that holds
   * them from now on.
   */
  claim(queueId: QueueId, bounds: ClaimBounds, holder: HolderId): ClaimedRow[] {
    const returned = this.#claimReturned(queueId, bounds, holder);
    const { max, bytesMax } = bounds;
    // With a bound of bytes the next claim continues: what is left of it may be less than the next message.
    if (returned.length === max || (returned.length > 0 && bytesMax !== undefined)) return returned;
    const undelivered = this.#claimUndelivered(queueId, { max: max - returned.length, bytesMax }, holder);
    return returned.length === 0 ? undelivered : [...returned, ...undelivered];
  }

  #claimReturned(queueId: QueueId, bounds: ClaimBounds, holder: HolderId): ClaimedRow[] {
    if (!this.#hasReturned(queueId)) return [];
    const returned = this.#selectReturned.iterate(queueId, bounds.max) as Iterable<StoredClaim>;
    const rows = this.#undamagedStart(queueId, takeWithin(returned, bounds));
    this.#holdReturnedThrough.run(holder, queueId, rows.at(-1)!.id);
    return rows;
  }

  #claimUndelivered(queueId: QueueId, bounds: ClaimBounds, holder: HolderId): ClaimedRow[] {
    const lastId = this.#lastDeliveredId(queueId);
    const rows =
      this.#takeRecent(queueId, lastId, bounds) ??
      this.#undamagedStart(
        queueId,
        takeWithin(
          this.#selectUndelivered.iterate(queueId, lastId, bounds.max) as Iterable<StoredClaim>,
          bounds,
        ),
      );
    if (rows.length > 0) this.#insertDeliveries.run(holder, queueId, rows[0]!.id, rows.at(-1)!.id);
    return rows;
  }

  /** Rows above `lastId`; undefined unless this process has the records of all of them. */
  #takeRecent(queueId: QueueId, lastId: Seq, bounds: ClaimBounds): ClaimedRow[] | undefined {
    if (this.#recent.size === 0) return undefined;
    const all: ClaimedRow[] = [];
    for (const [id, crc] of this.#selectUndeliveredKeys.all(queueId, lastId, bounds.max) as [Seq, number][]) {
      const record = this.#recent.find(id, crc);
      if (record === undefined) return undefined;
      all.push({ id, deliveryCount: 1, crc, record });
    }
    const rows = takeWithin(all, bounds);
    for (const { id } of rows) this.#recent.delete(id);
    return rows;
  }

  /** The rows in front of the first damaged one, which keeps the queue in order; throws if that is the very first. */
  #undamagedStart(queueId: QueueId, rows: readonly StoredClaim[]): ClaimedRow[] {
    const damaged = rows.findIndex((row) => !isClaimUndamaged(queueId, row));
    if (damaged === 0) throw this.#damagedError(queueId, rows[0]!.id);
    return damaged === -1 ? [...rows] : rows.slice(0, damaged);
  }

  #damagedError(queueId: QueueId, id: Seq): QueueError {
    return new QueueError('STORAGE_CORRUPT', {
      message: `Message ${id} of queue ${queueId} in ${this.#file.name}, or its delivery, is damaged (checksum mismatch)`,
      details: { path: this.#file.name, queueId, id },
    });
  }

  /** Makes a message of `holder` ready again. One that no consumer has seen (`seen` false) does not count as delivered. */
  release({ queueId, id }: { queueId: QueueId; id: Seq }, holder: HolderId, seen = true): void {
    this.#release.run(seen ? 0 : 1, queueId, id, holder);
  }

  /** Deletes the deliveries of a run of ids; returns how many of them `holder` held. */
  removeRange(
    { queueId, firstId, endId }: { queueId: QueueId; firstId: Seq; endId: Seq },
    holder: HolderId,
  ): number {
    return this.#deleteRange.run(queueId, firstId, endId, holder).changes;
  }

  countHeld(queueId: QueueId): number {
    return this.#selectHeldCount.get(queueId) as number;
  }
}

/** A delivery without its message has NULL for the record. */
function isClaimUndamaged(queueId: QueueId, { id, crc, record, undamaged }: StoredClaim): boolean {
  return undamaged === 1 && record !== null && isMessageUndamaged({ queueId, id, crc, record });
}
