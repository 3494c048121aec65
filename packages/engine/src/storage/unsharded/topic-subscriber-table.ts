/**
 * The subscribers of the topics in the unsharded file, as the catalog names them, and their counters. An enqueuing commit reads
 * them here, so that all processes agree on the first message that a subscriber gets.
 *
 * A temporary subscriber is here only. Its id is negative; its row is deleted with its last message.
 *
 * A subscriber that was removed has `ended`: it gets no more messages, and its row is deleted with the last of its recipient
 * rows.
 */
import { QueueError } from '../../api/errors.ts';
import type { QueueId, SubscriberId } from '../../model/ids.ts';
import type { SubscriberRow } from '../../model/subscriber-row.ts';
import { rowChecksum } from '../checksum.ts';
import type { SqliteFile, SqliteStatement } from '../sqlite/open-sqlite.ts';
import type { MessageConsumer } from './message-consumer.ts';
import { type QueueTotal, undamagedTotalSql, wrapSql } from './queue-total-table.ts';

/** Each column has a prime of its own, so no change of one column goes unnoticed. SQLite computes it with every write. */
const rowChecksumSql = `(queue_id * 1000003 + subscriber * 31 + durable * 8191 + crc * 127 + ended * 524287
  + enqueued * 6700417 + consumed * 2147483 + checksum_sum * 131071)`;

/** Condition for statements that read or change a row. */
export const undamagedSubscriberSql = `row_checksum = ${rowChecksumSql}`;

/** The row of `queue_total` that counts the subscribers as if they were messages; triggers keep it. */
export const subscribersTotalId = -2;

export const topicSubscriberTableSql = `
  CREATE TABLE topic_subscriber (
    queue_id INTEGER NOT NULL,
    subscriber INTEGER NOT NULL,     -- as in the catalog, or negative: a temporary one; never reused
    name TEXT NOT NULL,
    durable INTEGER NOT NULL,
    crc INTEGER NOT NULL,            -- over the columns before it
    ended INTEGER NOT NULL DEFAULT 0, -- 1: removed, and some of its rows in recipient are left
    enqueued INTEGER NOT NULL DEFAULT 0,
    consumed INTEGER NOT NULL DEFAULT 0,
    checksum_sum INTEGER NOT NULL DEFAULT 0, -- of its rows in recipient, modulo 2³²
    row_checksum INTEGER GENERATED ALWAYS AS ${rowChecksumSql} STORED,
    PRIMARY KEY (queue_id, subscriber)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER topic_subscriber_inserted AFTER INSERT ON topic_subscriber BEGIN
    UPDATE queue_total SET enqueued = enqueued + 1, checksum_sum = (checksum_sum + new.crc) ${wrapSql}
    WHERE queue_id = ${subscribersTotalId} AND ${undamagedTotalSql};
  END;
  CREATE TRIGGER topic_subscriber_deleted AFTER DELETE ON topic_subscriber BEGIN
    UPDATE queue_total SET consumed = consumed + 1, checksum_sum = (checksum_sum - old.crc) ${wrapSql}
    WHERE queue_id = ${subscribersTotalId} AND ${undamagedTotalSql};
  END;
  INSERT INTO queue_total (queue_id, enqueued, consumed) VALUES (${subscribersTotalId}, 0, 0);
`;

export interface StoredSubscriber extends SubscriberRow {
  ended: boolean;
}

export interface StoredSubscriberRow {
  queueId: QueueId;
  id: SubscriberId;
  name: string;
  durable: number;
  crc: number;
  ended: number;
  undamaged: number;
}

export const subscriberColumns = `queue_id AS queueId, subscriber AS id, name, durable, crc, ended,
  ${undamagedSubscriberSql} AS undamaged`;

export function isSubscriberUndamaged({
  queueId,
  id,
  name,
  durable,
  crc,
  undamaged,
}: StoredSubscriberRow): boolean {
  return undamaged === 1 && crc === rowChecksum([queueId, id, name, durable]);
}

export class TopicSubscriberTable {
  readonly #file: SqliteFile;
  readonly #select: SqliteStatement;
  readonly #insert: SqliteStatement;
  readonly #selectByName: SqliteStatement;
  readonly #selectNamed: SqliteStatement;
  readonly #end: SqliteStatement;
  readonly #delete: SqliteStatement;
  readonly #selectTotal: SqliteStatement;
  readonly #addEnqueued: SqliteStatement;
  readonly #addEnqueuedTo: SqliteStatement;
  readonly #addConsumed: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#select = file.prepare(
      `SELECT ${subscriberColumns} FROM topic_subscriber WHERE queue_id = ? ORDER BY subscriber`,
    );
    this.#insert = file.prepare(
      'INSERT OR IGNORE INTO topic_subscriber (queue_id, subscriber, name, durable, crc) VALUES (?, ?, ?, ?, ?)',
    );
    this.#selectByName = file
      .prepare(
        'SELECT subscriber FROM topic_subscriber WHERE queue_id = ? AND name = ? AND ended = 0 ORDER BY subscriber',
      )
      .pluck();
    this.#selectNamed = file
      .prepare(
        `SELECT name, subscriber FROM topic_subscriber
         WHERE queue_id = ? AND ended = 0 AND name IN (SELECT value FROM json_each(?)) ORDER BY subscriber`,
      )
      .raw();
    this.#end = file.prepare(
      `UPDATE topic_subscriber SET ended = 1 WHERE queue_id = ? AND subscriber = ? AND ${undamagedSubscriberSql}`,
    );
    this.#delete = file.prepare('DELETE FROM topic_subscriber WHERE queue_id = ? AND subscriber = ?');
    this.#selectTotal = file.prepare(
      `SELECT enqueued, consumed, ended, ${undamagedSubscriberSql} AS undamaged FROM topic_subscriber
       WHERE queue_id = ? AND subscriber = ?`,
    );
    const addEnqueuedSql = (
      among: string,
    ) => `UPDATE topic_subscriber SET enqueued = enqueued + ?, checksum_sum = (checksum_sum + ?) ${wrapSql}
       WHERE queue_id = ? AND ended = 0 AND ${undamagedSubscriberSql} AND ${among}`;
    this.#addEnqueued = file.prepare(addEnqueuedSql('subscriber > 0'));
    this.#addEnqueuedTo = file.prepare(addEnqueuedSql('subscriber IN (SELECT value FROM json_each(?))'));
    // A damaged row is not changed: that would give it a right checksum.
    this.#addConsumed = file.prepare(
      `UPDATE topic_subscriber SET consumed = consumed + ?, checksum_sum = (checksum_sum - ?) ${wrapSql}
       WHERE queue_id = ? AND subscriber = ? AND ${undamagedSubscriberSql}`,
    );
  }

  /** Reads the subscribers of a topic, including those that have ended. Throws `STORAGE_CORRUPT`. */
  ofTopic(queueId: QueueId): StoredSubscriber[] {
    return (this.#select.all(queueId) as StoredSubscriberRow[]).map((row) => {
      if (!isSubscriberUndamaged(row)) throw this.damagedError({ queueId, subscriber: row.id });
      return { id: row.id, name: row.name, durable: row.durable === 1, ended: row.ended === 1 };
    });
  }

  /** Inside a write transaction. It gets what is enqueued from now on; another process may have added it already. */
  add(queueId: QueueId, { id, name, durable }: SubscriberRow): void {
    this.#insert.run(queueId, id, name, Number(durable), rowChecksum([queueId, id, name, Number(durable)]));
  }

  /**
   * The ids of the subscribers of a topic among `names`, a JSON array. If a subscriber was added under the name of a temporary
   * one, its id is returned.
   */
  idsOf(queueId: QueueId, names: string): Map<string, SubscriberId> {
    return new Map(this.#selectNamed.all(queueId, names) as [string, SubscriberId][]);
  }

  /** The id of a subscriber, of a temporary one if there are two of this name; undefined if there is none. */
  idOf(queueId: QueueId, name: string): SubscriberId | undefined {
    return this.#selectByName.get(queueId, name) as SubscriberId | undefined;
  }

  /** Inside a write transaction: ends the subscriber, which gets no more messages. */
  end({ queueId, subscriber }: MessageConsumer): void {
    this.#end.run(queueId, subscriber);
  }

  /** Inside a write transaction. */
  remove({ queueId, subscriber }: MessageConsumer): void {
    this.#delete.run(queueId, subscriber);
  }

  /**
   * Inside a write transaction: counts messages for the subscribers of a topic that are not temporary, or for those whose
   * ids are listed as JSON. Returns how many these are.
   */
  addEnqueued(
    queueId: QueueId,
    { messages, checksumSum }: CountedMessages,
    among: string | undefined,
  ): number {
    return among === undefined
      ? this.#addEnqueued.run(messages, checksumSum, queueId).changes
      : this.#addEnqueuedTo.run(messages, checksumSum, queueId, among).changes;
  }

  /** Inside a write transaction. */
  addConsumed(consumer: MessageConsumer, { messages, checksumSum }: CountedMessages): void {
    const { changes } = this.#addConsumed.run(messages, checksumSum, consumer.queueId, consumer.subscriber);
    if (changes === 0) throw this.damagedError(consumer);
  }

  /** Whether the subscriber was removed, so that nothing more is consumed for it. */
  isGone(consumer: MessageConsumer): boolean {
    const row = this.#selectTotal.get(consumer.queueId, consumer.subscriber) as { ended: number } | undefined;
    return row === undefined || row.ended === 1;
  }

  /** Throws `STORAGE_CORRUPT`; `SUBSCRIBER_NOT_FOUND` if it was removed. */
  totalOf(consumer: MessageConsumer): QueueTotal {
    const row = this.#selectTotal.get(consumer.queueId, consumer.subscriber) as
      | (QueueTotal & { ended: number; undamaged: number })
      | undefined;
    if (row === undefined || row.ended === 1)
      throw new QueueError('SUBSCRIBER_NOT_FOUND', { details: { ...consumer } });
    if (row.undamaged !== 1) throw this.damagedError(consumer);
    return { enqueued: row.enqueued, consumed: row.consumed };
  }

  damagedError({ queueId, subscriber }: MessageConsumer): QueueError {
    return new QueueError('STORAGE_CORRUPT', {
      message: `Subscriber ${subscriber} of topic ${queueId} in ${this.#file.name} or its counters are damaged (checksum mismatch)`,
      details: { path: this.#file.name, queueId, subscriber },
    });
  }
}

export interface CountedMessages {
  messages: number;
  /** Sum of their checksums. */
  checksumSum: number;
}
