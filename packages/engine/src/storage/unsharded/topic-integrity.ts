/** Damage of the rows of topics in the unsharded file, in sentences: for the check of the folder, at opening and for the scrub. */
import type { HolderId, QueueId, Seq, SubscriberId } from '../../model/ids.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import { wrapSql } from './queue-total-table.ts';
import { recipientChecksumSql, undamagedCountSql } from './recipient-table.ts';
import {
  isSubscriberUndamaged,
  type StoredSubscriberRow,
  subscriberColumns,
} from './topic-subscriber-table.ts';

/** Compares the rows of each subscriber with what was counted for it. */
export function topicCountFaults(file: SqliteFile): string[] {
  const stored = new Map(
    (
      file
        .prepare(
          `SELECT subscriber, count(*) AS rows, sum(crc) ${wrapSql} AS sum FROM recipient GROUP BY subscriber`,
        )
        .all() as { subscriber: SubscriberId; rows: number; sum: number }[]
    ).map((row) => [row.subscriber, row]),
  );
  const counted = file
    .prepare(
      `SELECT queue_id AS queueId, subscriber, enqueued - consumed AS rows, checksum_sum AS sum FROM topic_subscriber`,
    )
    .all() as { queueId: QueueId; subscriber: SubscriberId; rows: number; sum: number }[];
  const faults = damagedSubscriberFaults(file);
  for (const { queueId, subscriber, rows, sum } of counted) {
    const found = stored.get(subscriber) ?? { rows: 0, sum: 0 };
    stored.delete(subscriber);
    if (found.rows === rows && found.sum === sum) continue;
    const whose = `subscriber ${subscriber} of topic ${queueId}`;
    faults.push(
      found.rows === rows
        ? `among the ${rows} messages for ${whose} are others than those that were stored`
        : `${rows} messages for ${whose} should be stored, and ${found.rows} are found`,
    );
  }
  for (const { subscriber, rows } of stored.values())
    faults.push(`${rows} messages are for subscriber ${subscriber}, which is not known`);
  const [unconsumed, rows] = file
    .prepare(
      'SELECT (SELECT coalesce(sum(unconsumed), 0) FROM message_recipients), (SELECT count(*) FROM recipient)',
    )
    .raw()
    .get() as [number, number];
  if (unconsumed !== rows)
    faults.push(`messages of topics should have ${unconsumed} recipients, and have ${rows}`);
  return faults;
}

export function damagedSubscriberFaults(file: SqliteFile): string[] {
  const rows = file
    .prepare(`SELECT ${subscriberColumns} FROM topic_subscriber`)
    .all() as StoredSubscriberRow[];
  return rows
    .filter((row) => !isSubscriberUndamaged(row))
    .map(({ id, queueId }) => `subscriber ${id} of topic ${queueId}, or what was counted for it, is damaged`);
}

/** Verifies every row of the messages' recipients. */
export function topicRowFaults(file: SqliteFile): string[] {
  const { faults } = findRecipientFaults(file, beforeAllRecipients, -1);
  return [...faults, ...findRecipientCountFaults(file, 0, -1).faults, ...unevenCountFaults(file)];
}

export interface RecipientPlace {
  holder: HolderId;
  subscriber: SubscriberId;
  rank: number;
  id: Seq;
}

/** The checksum takes a text or a blob without digits for 0. */
const integersSql = ['holder', 'subscriber', 'rank', 'id', 'delivery_count', 'crc']
  .map((column) => `typeof(recipient.${column}) = 'integer'`)
  .join(' AND ');

export const beforeAllRecipients: RecipientPlace = { holder: -1, subscriber: 0, rank: 0, id: 0 };

/**
 * Damage among up to `rowsMax` rows behind `after`; -1: all. `end`: the last one that was read; undefined at the end of the
 * table.
 */
export function findRecipientFaults(
  file: SqliteFile,
  after: RecipientPlace,
  rowsMax: number,
): { faults: string[]; end: RecipientPlace | undefined } {
  // A key with a part that a flipped bit made NULL is neither before nor behind another: such a row is read too.
  const rows = file
    .prepare(
      `SELECT holder, subscriber, rank, recipient.id, recipient.row_checksum = ${recipientChecksumSql('recipient.')} AND ${integersSql} AS undamaged,
         message.crc IS recipient.crc AS hasMessage
       FROM recipient LEFT JOIN message ON message.id = recipient.id
       WHERE holder >= ? AND ((holder, subscriber, rank, recipient.id) > (?, ?, ?, ?)) IS NOT 0
       ORDER BY holder, subscriber, rank, recipient.id LIMIT ?`,
    )
    .all(after.holder, after.holder, after.subscriber, after.rank, after.id, rowsMax) as (RecipientPlace & {
    undamaged: number;
    hasMessage: number;
  })[];
  const faults = rows.flatMap(({ subscriber, id, undamaged, hasMessage }) => {
    if (undamaged !== 1)
      return [`the row of message ${id} for subscriber ${subscriber} is not what was written`];
    return hasMessage === 1 ? [] : [`message ${id} is missing, and is for subscriber ${subscriber}`];
  });
  const isOrdered = rows.every((row, index) => compare(row, rows[index - 1] ?? after) > 0);
  // Behind a damaged key there may be no end.
  if (!isOrdered) return { faults: [...faults, 'rows of recipients are not in their order'], end: undefined };
  return { faults, end: rows.length === rowsMax ? rows.at(-1) : undefined };
}

function compare(a: RecipientPlace, b: RecipientPlace): number {
  return a.holder - b.holder || a.subscriber - b.subscriber || a.rank - b.rank || a.id - b.id;
}

/** Damage among up to `rowsMax` counts of recipients behind a message; -1: all. `endId`: the last one that was read. */
export function findRecipientCountFaults(
  file: SqliteFile,
  afterId: Seq,
  rowsMax: number,
): { faults: string[]; endId: Seq | undefined } {
  const rows = file
    .prepare(
      `SELECT id, ${undamagedCountSql} AS undamaged, EXISTS (SELECT 1 FROM message WHERE message.id = message_recipients.id) AS hasMessage
       FROM message_recipients WHERE id > ? ORDER BY id LIMIT ?`,
    )
    .all(afterId, rowsMax) as { id: Seq; undamaged: number; hasMessage: number }[];
  const faults = rows.flatMap(({ id, undamaged, hasMessage }) => {
    if (undamaged !== 1) return [`the number of recipients of message ${id} is not what was written`];
    return hasMessage === 1 ? [] : [`message ${id} is missing, and has recipients`];
  });
  const isOrdered = rows.every(({ id }, index) => id > (rows[index - 1]?.id ?? afterId));
  if (!isOrdered)
    return { faults: [...faults, 'numbers of recipients are not in their order'], endId: undefined };
  return { faults, endId: rows.length === rowsMax ? rows.at(-1)?.id : undefined };
}

/** Messages whose number of recipients is not that of their rows. */
function unevenCountFaults(file: SqliteFile): string[] {
  const rows = file
    .prepare(
      `SELECT coalesce(message_recipients.id, counted.id) AS id, unconsumed, counted.rows AS rows FROM message_recipients
       FULL JOIN (SELECT id, count(*) AS rows FROM recipient GROUP BY id) AS counted USING (id)
       WHERE unconsumed IS NOT counted.rows`,
    )
    .all() as { id: Seq; unconsumed: number | null; rows: number | null }[];
  return rows.map(
    ({ id, unconsumed, rows: found }) =>
      `message ${id} should have ${unconsumed ?? 0} recipients, and has ${found ?? 0}`,
  );
}
