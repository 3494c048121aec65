/** Pages of live messages of the unsharded file, without damaged ones. */
import { QueueError } from '../../api/errors.ts';
import type { HolderId, QueueId, Seq } from '../../model/ids.ts';
import { readEnqueuedAtMs } from '../../model/message-record.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import type { ClaimedRow } from './delivery-table.ts';
import type { MessageConsumer, MessageKey } from './message-consumer.ts';
import { isMessageUndamaged } from './message-table.ts';

export interface BrowsedRow extends ClaimedRow {
  /** 0: it is ready. */
  heldBy: HolderId;
}

/** The place of a message in the order of delivery of a topic's subscriber. */
export interface BrowseMark {
  rank: number;
  id: Seq;
}

/** Reads the messages above `afterId`, in order. */
export function browseQueue(
  file: SqliteFile,
  queueId: QueueId,
  { afterId, limit }: { afterId: Seq; limit: number },
): BrowsedRow[] {
  const rows = file
    .prepare(
      `SELECT message.id, coalesce(holder, 0) AS heldBy, coalesce(delivery_count, 0) AS deliveryCount, crc, record
       FROM message LEFT JOIN delivery USING (queue_id, id)
       WHERE message.queue_id = ? AND message.id > ? ORDER BY message.id LIMIT ?`,
    )
    .all(queueId, afterId, limit) as BrowsedRow[];
  return rows.filter((row) => isMessageUndamaged({ ...row, queueId }));
}

/** Reads the messages behind `after` in the order of delivery, ready or held. */
export function browseTopic(
  file: SqliteFile,
  { queueId, subscriber }: MessageConsumer,
  { after, limit }: { after: BrowseMark; limit: number },
): BrowsedRow[] {
  const holders = file.prepare('SELECT holder FROM holder').pluck().all() as HolderId[];
  // Rows are in order within each holder's range only.
  const select = file.prepare(
    `SELECT recipient.id, rank, holder AS heldBy, delivery_count AS deliveryCount, message.crc, record
     FROM recipient JOIN message ON message.id = recipient.id
     WHERE holder = ? AND subscriber = ? AND (rank, recipient.id) > (?, ?) ORDER BY rank, recipient.id LIMIT ?`,
  );
  type Row = BrowsedRow & { rank: number };
  const rows = [0, ...holders].flatMap(
    (holder) => select.all(holder, subscriber, after.rank, after.id, limit) as Row[],
  );
  return rows
    .sort((a, b) => a.rank - b.rank || a.id - b.id)
    .slice(0, limit)
    .filter((row) => isMessageUndamaged({ ...row, queueId }))
    .map(({ rank, ...row }) => ({ ...row, recipient: { subscriber, rank } }));
}

/** Epoch ms; undefined if there is no such message. */
export function readEnqueueTime(file: SqliteFile, id: Seq): number | undefined {
  const record = file.prepare('SELECT record FROM message WHERE id = ?').pluck().get(id) as
    | Buffer
    | undefined;
  return record && readEnqueuedAtMs(record, 0);
}

/** Throws `STORAGE_CORRUPT`. */
export function readHeldRecord(file: SqliteFile, id: Seq): Buffer {
  const row = file.prepare('SELECT queue_id AS queueId, crc, record FROM message WHERE id = ?').get(id) as
    | (MessageKey & { record: Buffer })
    | undefined;
  if (row !== undefined && isMessageUndamaged({ ...row, id })) return row.record;
  throw new QueueError('STORAGE_CORRUPT', {
    message: `Message ${id} in ${file.name} is damaged or missing`,
    details: { path: file.name, id },
  });
}
