/** One slice of a scrub over the deliveries of the unsharded file. */
import type { QueueId, Seq } from '../../model/ids.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import { undamagedDeliverySql } from './delivery-table.ts';
import { deliveryFault } from './unsharded-integrity.ts';

export interface DeliveryKey {
  queueId: QueueId;
  id: Seq;
}

interface StoredDelivery extends DeliveryKey {
  undamaged: number;
  isReturned: number;
  hasMessage: number;
}

/** Damage among up to `rowsMax` deliveries behind `after`. `end`: the last one that was read; undefined at the end of the table. */
export function findDeliveryFaults(
  file: SqliteFile,
  after: DeliveryKey,
  rowsMax: number,
): { faults: string[]; end: DeliveryKey | undefined } {
  const rows = file
    .prepare(
      `SELECT queue_id AS queueId, id, ${undamagedDeliverySql} AS undamaged, holder = 0 AS isReturned,
         EXISTS (SELECT 1 FROM message WHERE message.id = delivery.id AND message.queue_id = delivery.queue_id) AS hasMessage
       FROM delivery NOT INDEXED WHERE (queue_id, id) > (?, ?) ORDER BY queue_id, id LIMIT ?`,
    )
    .all(after.queueId, after.id, rowsMax) as StoredDelivery[];
  const faults = rows.flatMap((row) => {
    if (row.undamaged !== 1) return [deliveryFault(row)];
    return row.hasMessage === 1
      ? []
      : [`message ${row.id} of queue ${row.queueId} is missing, and was delivered`];
  });
  const isOrdered = rows.every((row, index) => isBehind(row, rows[index - 1] ?? after));
  // Behind a damaged key there may be no end.
  if (!isOrdered) return { faults: [...faults, 'deliveries are not in their order'], end: undefined };
  const end = rows.length < rowsMax ? undefined : rows.at(-1);
  const { queueId, id } = end ?? { queueId: Number.MAX_SAFE_INTEGER, id: 0 };
  const indexed = file
    .prepare(
      `SELECT count(*) FROM delivery INDEXED BY delivery_returned
       WHERE holder = 0 AND (queue_id, id) > (?, ?) AND (queue_id, id) <= (?, ?)`,
    )
    .pluck()
    .get(after.queueId, after.id, queueId, id) as number;
  const returned = rows.filter(({ isReturned }) => isReturned === 1).length;
  if (indexed !== returned)
    faults.push(
      `of the deliveries that were returned, ${returned} are in the table and ${indexed} in its index`,
    );
  return { faults, end: end && { queueId: end.queueId, id: end.id } };
}

function isBehind(row: DeliveryKey, before: DeliveryKey): boolean {
  return row.queueId > before.queueId || (row.queueId === before.queueId && row.id > before.id);
}
