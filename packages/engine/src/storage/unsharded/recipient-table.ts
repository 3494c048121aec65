/**
 * A topic's messages are stored once, like those of a queue, with a small row here for each recipient: the one ordered index of
 * the conventional design, where all enqueues and dequeues of all instances meet.
 *
 * Rows that are ready have holder 0, so the next one of a subscriber is the first of its range, however many are held. A claim
 * moves rows to the range of the process that claims them, a release moves them back to their places. Once the last row of a
 * message is gone, which `message_recipients` counts, the message is deleted too.
 *
 * `+` and `+ 0` beside bound values: as in `delivery-table.ts`.
 */
import { QueueError } from '../../api/errors.ts';
import type { HolderId, QueueId, Seq, SubscriberId } from '../../model/ids.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';
import type { ClaimedRow } from './delivery-table.ts';
import {
  type ClaimBounds,
  type HeldMessage,
  type MessageConsumer,
  type RecipientKey,
  takeWithin,
} from './message-consumer.ts';
import { isMessageUndamaged } from './message-table.ts';

/** Each column has a prime of its own, so no change of one column goes unnoticed. SQLite computes it with every write. */
export const recipientChecksumSql = (of = '') =>
  `(holder * 8191 + subscriber * 1000003 + rank * 524287 + ${of}id * 31 + delivery_count * 131071 + ${of}crc * 127)`;
const countChecksumSql = '(id * 31 + unconsumed * 131071)';

/** Condition for statements that read or change a row. */
export const undamagedRecipientSql = `row_checksum = ${recipientChecksumSql()}`;
export const undamagedCountSql = `row_checksum = ${countChecksumSql}`;

export const recipientTableSql = `
  CREATE TABLE recipient (
    holder INTEGER NOT NULL,         -- 0: ready
    subscriber INTEGER NOT NULL,
    rank INTEGER NOT NULL,           -- 0 is the most urgent priority
    id INTEGER NOT NULL,             -- of the message
    delivery_count INTEGER NOT NULL,
    crc INTEGER NOT NULL,            -- of the message
    row_checksum INTEGER GENERATED ALWAYS AS ${recipientChecksumSql()} STORED,
    PRIMARY KEY (holder, subscriber, rank, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE message_recipients (
    id INTEGER PRIMARY KEY,          -- of a topic's message
    unconsumed INTEGER NOT NULL,     -- rows that it has in recipient
    row_checksum INTEGER GENERATED ALWAYS AS ${countChecksumSql} STORED
  ) STRICT;
`;

/** Neighbouring messages of one subscriber. */
export interface RecipientRange extends RecipientKey {
  firstId: Seq;
  endId: Seq;
}

/** Neighbouring messages that go to the same subscribers with the same rank. */
export interface DistributedRun {
  queueId: QueueId;
  firstId: Seq;
  lastId: Seq;
  rank: number;
  /** Ids of the subscribers that get them, as JSON; undefined: all of the topic that are not temporary. */
  among: string | undefined;
}

interface StoredRecipient {
  rank: number;
  id: Seq;
  deliveryCount: number;
  crc: number;
  record: Buffer;
  undamaged: number;
}

/** All methods but `hasReady`, `oldestReadyId` and the counts are called inside a write transaction. */
export class RecipientTable {
  readonly #file: SqliteFile;
  readonly #insert: SqliteStatement;
  readonly #insertAmong: SqliteStatement;
  readonly #insertCounts: SqliteStatement;
  readonly #selectAnyReady: SqliteStatement;
  readonly #selectReady: SqliteStatement;
  readonly #holdThrough: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #deleteRange: SqliteStatement;
  readonly #countDown: SqliteStatement;
  readonly #deleteConsumed: SqliteStatement;
  readonly #selectHeldCount: SqliteStatement;
  readonly #selectOldestReady: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    const insertSql = (among: string) => `
      INSERT INTO recipient (holder, subscriber, rank, id, delivery_count, crc)
      SELECT 0, subscriber, ?, message.id, 0, message.crc FROM topic_subscriber CROSS JOIN message
      WHERE topic_subscriber.queue_id = ? AND ended = 0 ${among} AND message.id BETWEEN ? AND ?`;
    this.#insert = file.prepare(insertSql('AND subscriber > 0'));
    this.#insertAmong = file.prepare(insertSql('AND subscriber IN (SELECT value FROM json_each(?))'));
    this.#insertCounts = file.prepare(
      'INSERT INTO message_recipients (id, unconsumed) SELECT id, ? FROM message WHERE id BETWEEN ? AND ?',
    );
    this.#selectAnyReady = file
      .prepare('SELECT 1 FROM recipient WHERE holder = 0 AND subscriber = ? LIMIT 1')
      .pluck();
    this.#selectReady = file.prepare(
      `SELECT rank, recipient.id, delivery_count + 1 AS deliveryCount, message.crc, record,
         row_checksum = ${recipientChecksumSql('recipient.')} AND recipient.crc = message.crc AS undamaged
       FROM recipient LEFT JOIN message ON message.id = recipient.id
       WHERE holder = 0 AND subscriber = ? + 0 ORDER BY rank, recipient.id LIMIT ? + 0`,
    );
    this.#holdThrough = file.prepare(
      `UPDATE recipient SET holder = ?, delivery_count = delivery_count + 1
       WHERE holder = 0 AND subscriber = ? AND (rank, id) <= (? + 0, ? + 0)`,
    );
    this.#release = file.prepare(
      `UPDATE recipient SET holder = 0, delivery_count = delivery_count - ?
       WHERE holder = ? AND subscriber = ? AND rank = ? AND id = ? AND ${undamagedRecipientSql}`,
    );
    this.#deleteRange = file.prepare(
      `DELETE FROM recipient
       WHERE holder = ? AND subscriber = ? AND rank = ? AND id >= ? + 0 AND id < ? + 0 AND ${undamagedRecipientSql}`,
    );
    this.#countDown = file.prepare(
      `UPDATE message_recipients SET unconsumed = unconsumed - 1
       WHERE id >= ? + 0 AND id < ? + 0 AND unconsumed > 0 AND ${undamagedCountSql}`,
    );
    this.#deleteConsumed = file
      .prepare(
        'DELETE FROM message_recipients WHERE id >= ? + 0 AND id < ? + 0 AND unconsumed = 0 RETURNING id',
      )
      .pluck();
    this.#selectHeldCount = file
      .prepare(
        `SELECT count(*) FROM recipient
         WHERE subscriber = ? AND holder IN (SELECT holder FROM holder) AND ${undamagedRecipientSql}`,
      )
      .pluck();
    this.#selectOldestReady = file
      .prepare(
        `WITH ranks (rank) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))
         SELECT min((SELECT min(id) FROM recipient WHERE holder = 0 AND subscriber = ? AND recipient.rank = ranks.rank))
         FROM ranks`,
      )
      .pluck();
  }

  /** Adds recipient rows of stored messages for `subscribers` subscribers. */
  distribute({ queueId, firstId, lastId, rank, among }: DistributedRun, subscribers: number): void {
    const { changes } =
      among === undefined
        ? this.#insert.run(rank, queueId, firstId, lastId)
        : this.#insertAmong.run(rank, queueId, among, firstId, lastId);
    if (changes !== subscribers * (lastId - firstId + 1))
      throw new QueueError('STORAGE_CORRUPT', {
        message: `A subscriber of topic ${queueId} in ${this.#file.name} is damaged: not all of its messages could be added`,
        details: { path: this.#file.name, queueId },
      });
    if (subscribers > 0) this.#insertCounts.run(subscribers, firstId, lastId);
  }

  hasReady(subscriber: SubscriberId): boolean {
    return this.#selectAnyReady.get(subscriber) === 1;
  }

  /** Delivers ready messages, the most urgent first, then the oldest. `holder` holds them from now on. */
  claim({ queueId, subscriber }: MessageConsumer, bounds: ClaimBounds, holder: HolderId): ClaimedRow[] {
    const ready = this.#selectReady.iterate(subscriber, bounds.max) as Iterable<StoredRecipient>;
    const stored = takeWithin(ready, bounds);
    const damaged = stored.findIndex((row) => !isUndamaged(queueId, row));
    if (damaged === 0)
      throw this.#damagedError({ queueId, id: stored[0]!.id, recipient: { subscriber, rank: 0 } });
    const rows = damaged === -1 ? stored : stored.slice(0, damaged);
    const last = rows.at(-1);
    if (last === undefined) return [];
    const { changes } = this.#holdThrough.run(holder, subscriber, last.rank, last.id);
    if (changes !== rows.length)
      throw this.#damagedError({ queueId, id: last.id, recipient: { subscriber, rank: last.rank } });
    return rows.map(({ id, rank, deliveryCount, crc, record }) => ({
      id,
      deliveryCount,
      crc,
      record,
      recipient: { subscriber, rank },
    }));
  }

  #damagedError({ queueId, id, recipient }: HeldMessage): QueueError {
    return new QueueError('STORAGE_CORRUPT', {
      message: `Message ${id} of topic ${queueId} in ${this.#file.name}, or its row for subscriber ${recipient?.subscriber}, is damaged (checksum mismatch)`,
      details: { path: this.#file.name, queueId, id },
    });
  }

  /** Makes a message of `holder` ready again for the subscriber. One that no consumer has seen does not count as delivered. */
  release(id: Seq, { subscriber, rank }: RecipientKey, holder: HolderId, seen = true): void {
    this.#release.run(seen ? 0 : 1, holder, subscriber, rank, id);
  }

  /** Deletes the rows of a range; returns how many of them `holder` held. */
  removeRange({ subscriber, rank, firstId, endId }: RecipientRange, holder: HolderId): number {
    return this.#deleteRange.run(holder, subscriber, rank, firstId, endId).changes;
  }

  /**
   * Subtracts one recipient from each message of a range. Returns the ids of messages that have none left. Throws
   * `STORAGE_CORRUPT`.
   */
  countDown(queueId: QueueId, firstId: Seq, endId: Seq): number[] {
    if (this.#countDown.run(firstId, endId).changes !== endId - firstId)
      throw new QueueError('STORAGE_CORRUPT', {
        message: `The recipient counters of messages from ${firstId} on in ${this.#file.name} are damaged or missing`,
        details: { path: this.#file.name, queueId, id: firstId },
      });
    return (this.#deleteConsumed.all(firstId, endId) as number[]).sort((a, b) => a - b);
  }

  countHeld(subscriber: SubscriberId): number {
    return this.#selectHeldCount.get(subscriber) as number;
  }

  oldestReadyId(subscriber: SubscriberId): Seq | null {
    return this.#selectOldestReady.get(subscriber) as Seq | null;
  }
}

/** A row without its message has NULL for the record. */
function isUndamaged(queueId: QueueId, { id, crc, record, undamaged }: StoredRecipient): boolean {
  return undamaged === 1 && record !== null && isMessageUndamaged({ queueId, id, crc, record });
}
