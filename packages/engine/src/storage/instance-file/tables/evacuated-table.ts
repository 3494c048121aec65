/**
 * Evacuated messages: the few of an old partition that are still live when all others in it are consumed. They are copied
 * here so that the partition can be truncated, with one row for each subscriber that has not consumed the message.
 */

import type { EvacuatedKey, EvacuatedRow } from '../../../model/evacuated-message.ts';
import type { PartitionId, Seq } from '../../../model/ids.ts';
import { recordEnd } from '../../../model/message-record.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import { partitionTableName } from './partition-table.ts';
import { assertBlockUndamaged, blockColumns, type StoredBlock } from './read-partition.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const evacuatedMessages = new CheckedTable<EvacuatedRow>({
  name: 'evacuated',
  columns: ['queueId', 'shard', 'subscriber', 'seq', 'attempts', 'record'],
  key: ['queueId', 'shard', 'subscriber', 'seq'],
});
const hasKey = 'queue_id = @queueId AND shard = @shard AND subscriber = @subscriber AND seq = @seq';

export const evacuatedTable = {
  schemaSql: `
    CREATE TABLE evacuated (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      subscriber INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      record BLOB NOT NULL,
      crc INTEGER NOT NULL,
      PRIMARY KEY (queue_id, shard, subscriber, seq)
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [evacuatedMessages],
  createAppliers: (file): WriteAppliers<'evacuate' | 'evacuated attempts' | 'evacuated consumed'> => ({
    evacuate: ({ partition, rows }) => evacuate(file, partition, rows),
    'evacuated attempts': ({ evacuated: { queueId, shard, subscriber, seq, attempts } }) => {
      const where = 'WHERE queue_id = ? AND shard = ? AND subscriber = ? AND seq = ?';
      for (const row of evacuatedMessages.read(file, where, queueId, shard, subscriber, seq))
        evacuatedMessages.createWriter(file)({ ...row, attempts });
    },
    'evacuated consumed': ({ evacuated: { queueId, shard, subscriber, seq } }) => {
      file.prepare(`DELETE FROM evacuated WHERE ${hasKey}`).run({ queueId, shard, subscriber, seq });
    },
  }),
  deleteQueue(file, queueId) {
    file.prepare('DELETE FROM evacuated WHERE queue_id = ?').run(queueId);
  },
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM evacuated WHERE subscriber = ?').run(subscriber);
  },
  /** All rows: their number is bounded. */
  recover: (file) => ({
    evacuated: evacuatedMessages.read(file),
  }),
} satisfies TableModule;

function evacuate(
  file: SqliteFile,
  partition: PartitionId,
  rows: readonly Omit<EvacuatedRow, 'record'>[],
): void {
  const write = evacuatedMessages.createWriter(file);
  for (const row of rows) write({ ...row, record: readRecordAt(file, partition, row.seq) });
}

function readRecordAt(file: SqliteFile, partition: PartitionId, seq: Seq): Uint8Array {
  const block = file
    .prepare(
      `SELECT ${blockColumns} FROM ${partitionTableName(partition)} WHERE seq <= ? ORDER BY seq DESC LIMIT 1`,
    )
    .get(seq) as StoredBlock;
  assertBlockUndamaged(file, partition, block);
  const { firstSeq } = block;
  const body = Buffer.from(block.body.buffer, block.body.byteOffset, block.body.byteLength);
  let start = 0;
  for (let at = firstSeq; at < seq; at += 1) start = recordEnd(body, start);
  return body.subarray(start, recordEnd(body, start));
}

/** Returns the messages by sequence number. Throws `STORAGE_CORRUPT` if a row is damaged. */
export function readEvacuatedOfSubscriber(
  file: SqliteFile,
  { queueId, shard, subscriber }: Omit<EvacuatedKey, 'seq'>,
): EvacuatedRow[] {
  const where = 'WHERE queue_id = ? AND shard = ? AND subscriber = ? ORDER BY seq';
  return evacuatedMessages.read(file, where, queueId, shard, subscriber);
}
