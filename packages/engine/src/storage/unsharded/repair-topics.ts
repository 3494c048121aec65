/** The part of the unsharded file's repair that concerns topics: deletes damaged rows and recounts the rest. */
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import { wrapSql } from './queue-total-table.ts';
import { undamagedRecipientSql } from './recipient-table.ts';
import {
  isSubscriberUndamaged,
  type StoredSubscriberRow,
  subscriberColumns,
} from './topic-subscriber-table.ts';

/** Behind the repair of the messages. A subscriber whose row is damaged is added anew, without a backlog, as the catalog has it. */
export function dropDamagedTopicRows(file: SqliteFile): void {
  const remove = file.prepare('DELETE FROM topic_subscriber WHERE queue_id = ? AND subscriber = ?');
  const subscribers = file
    .prepare(`SELECT ${subscriberColumns} FROM topic_subscriber`)
    .all() as StoredSubscriberRow[];
  // The counters are recomputed, so a row is lost only if its data about the subscriber is damaged.
  for (const row of subscribers)
    if (!isSubscriberUndamaged({ ...row, undamaged: 1 })) remove.run(row.queueId, row.id);
  file.exec(`
    DELETE FROM recipient WHERE NOT ${undamagedRecipientSql}
      OR NOT EXISTS (SELECT 1 FROM message WHERE message.id = recipient.id AND message.crc = recipient.crc)
      OR subscriber NOT IN (SELECT subscriber FROM topic_subscriber);
    UPDATE OR IGNORE recipient SET holder = 0 WHERE holder <> 0;
    DELETE FROM recipient WHERE holder <> 0;`);
}

/** Each row that is written gets a correct checksum. A topic's message without a recipient is deleted. */
export function recountTopics(file: SqliteFile): void {
  file.exec(`
    DELETE FROM message WHERE id IN (SELECT id FROM message_recipients) AND id NOT IN (SELECT id FROM recipient);
    DELETE FROM message_recipients;
    INSERT INTO message_recipients (id, unconsumed) SELECT id, count(*) FROM recipient GROUP BY id;
    UPDATE topic_subscriber SET ended = ended <> 0, consumed = 0,
      enqueued = (SELECT count(*) FROM recipient WHERE recipient.subscriber = topic_subscriber.subscriber),
      checksum_sum = (SELECT coalesce(sum(crc), 0) FROM recipient WHERE recipient.subscriber = topic_subscriber.subscriber) ${wrapSql};`);
}
