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

/** Compares the rows of each subscriber with its counters. */
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
        ? `the ${rows} messages for ${whose} are not those that were stored (checksum mismatch)`
        : `${whose} should have ${rows} messages stored, but ${found.rows} were found`,
    );
  }
  for (const { subscriber, rows } of stored.values())
    faults.push(`${rows} messages are for the unknown subscriber ${subscriber}`);
  const [unconsumed, rows] = file
    .prepare(
      'SELECT (SELECT coalesce(sum(unconsumed), 0) FROM message_recipients), (SELECT count(*) FROM recipient)',
    )
    .raw()
    .get() as [number, number];
  if (unconsumed !== rows)
    faults.push(`messages of topics should have ${unconsumed} recipients, but ${rows} were found`);
  return faults;
}

export function damagedSubscriberFaults(file: SqliteFile): string[] {
  const rows = file
    .prepare(`SELECT ${subscriberColumns} FROM topic_subscriber`)
    .all() as StoredSubscriberRow[];
  return rows
    .filter((row) => !isSubscriberUndamaged(row))
    .map(
      ({ id, queueId }) =>
        `subscriber ${id} of topic ${queueId} or its counters are damaged (checksum mismatch)`,
    );
}

/** Verifies every row of the messages' recipients. */
export function topicRowFaults(file: SqliteFile): string[] {
  const { faults } = findRecipientFaults(file, undefined, Number.MAX_SAFE_INTEGER);
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

interface RecipientRow extends RecipientPlace {
  undamaged: number;
  hasMessage: number;
}

const recipientRowsSql = `
  SELECT holder, subscriber, rank, recipient.id AS id,
    recipient.row_checksum = ${recipientChecksumSql('recipient.')} AND ${integersSql} AS undamaged,
    message.crc IS recipient.crc AS hasMessage
  FROM recipient LEFT JOIN message ON message.id = recipient.id`;

/** SQLite compares no row of a group with the bounds, so a damaged key is read that is lower than its neighbours, or NULL. */
const groupSql = 'WHERE holder IS ? AND subscriber IS ? AND rank IS ?';
const ascending = 'ORDER BY holder, subscriber, rank, recipient.id LIMIT ?';
const descending = 'ORDER BY holder DESC, subscriber DESC, rank DESC, recipient.id DESC LIMIT 1';

/**
 * Damage among up to `rowsMax` rows behind `after`, or from the first one on. `end`: the last one that was read; undefined at the
 * end of the table.
 *
 * A row whose key is damaged is not in its place. SQLite, which searches by keys, may pass by it and by rows around it, so wherever
 * it searches the row in front of the one that it found must be the last one that was read.
 */
export function findRecipientFaults(
  file: SqliteFile,
  after: RecipientPlace | undefined,
  rowsMax: number,
): { faults: string[]; end: RecipientPlace | undefined } {
  const faults: string[] = [];
  let last = after;
  let read = 0;
  while (read < rowsMax) {
    const found = last === undefined ? [] : restOfGroup(file, last, rowsMax - read);
    const rows = found.length > 0 ? found : firstOfNextGroup(file, last);
    if (!follows(file, rows[0], last)) faults.push(notInOrder);
    for (const row of rows) {
      faults.push(...recipientFaults(row));
      if (last !== undefined && !(compare(row, last) > 0)) faults.push(notInOrder);
      last = row;
    }
    // Behind a damaged key there may be no end.
    if (rows.length === 0 || faults.includes(notInOrder)) return { faults, end: undefined };
    read += rows.length;
  }
  return { faults, end: last };
}

const notInOrder = 'rows of recipients are out of order';

/** Rows of the same holder, subscriber and rank behind one. */
function restOfGroup(file: SqliteFile, place: RecipientPlace, rowsMax: number): RecipientRow[] {
  return file
    .prepare(`${recipientRowsSql} ${groupSql} AND recipient.id > ? ${ascending}`)
    .all(place.holder, place.subscriber, place.rank, place.id, rowsMax) as RecipientRow[];
}

/** One row, or none at the end. */
function firstOfNextGroup(file: SqliteFile, place: RecipientPlace | undefined): RecipientRow[] {
  const where = place === undefined ? '' : 'WHERE (holder, subscriber, rank) > (?, ?, ?)';
  const bound = place === undefined ? [] : [place.holder, place.subscriber, place.rank];
  return file.prepare(`${recipientRowsSql} ${where} ${ascending}`).all(...bound, 1) as RecipientRow[];
}

/** Whether no row stands between `last` and the row that was found behind it, or the end of the table. `last` may be gone. */
function follows(
  file: SqliteFile,
  found: RecipientRow | undefined,
  last: RecipientPlace | undefined,
): boolean {
  const before = (where: string, ...bound: unknown[]) =>
    file.prepare(`${recipientRowsSql} ${where} ${descending}`).get(...bound) as RecipientRow | undefined;
  const isRead = (row: RecipientRow) => row.undamaged === 1 && last !== undefined && compare(row, last) <= 0;
  if (found === undefined) {
    const final = before('');
    return final === undefined || isRead(final);
  }
  const { holder, subscriber, rank, id } = found;
  // One of the two shows a damaged row in front: the first compares it with the bound, the second with the group.
  const lower = before(
    'WHERE (holder, subscriber, rank, recipient.id) < (?, ?, ?, ?)',
    ...[holder, subscriber, rank, id],
  );
  const ofGroup = before(`${groupSql} AND recipient.id < ?`, holder, subscriber, rank, id);
  if (lower === undefined) return ofGroup === undefined;
  const isOfGroup = lower.holder === holder && lower.subscriber === subscriber && lower.rank === rank;
  return isRead(lower) && (isOfGroup ? ofGroup?.id === lower.id : ofGroup === undefined);
}

function recipientFaults({ subscriber, id, undamaged, hasMessage }: RecipientRow): string[] {
  if (undamaged !== 1)
    return [`the row of message ${id} for subscriber ${subscriber} is damaged (checksum mismatch)`];
  return hasMessage === 1 ? [] : [`message ${id} for subscriber ${subscriber} is missing`];
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
    if (undamaged !== 1) return [`the recipient counter of message ${id} is damaged (checksum mismatch)`];
    return hasMessage === 1 ? [] : [`message ${id} is missing, but has recipients`];
  });
  const isOrdered = rows.every(({ id }, index) => id > (rows[index - 1]?.id ?? afterId));
  if (!isOrdered) return { faults: [...faults, 'recipient counters are out of order'], endId: undefined };
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
