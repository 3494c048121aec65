/**
 * Evacuated messages: the few of an old partition that are still live when all others in it are consumed. They are copied
 * here so that the partition can be truncated, with one row for each subscriber that has not consumed the message.
 */

import type { EvacuatedKey, EvacuatedRow } from '../../../model/evacuated-message.ts';
import type { PartitionId } from '../../../model/ids.ts';
import { recordEnd } from '../../../model/message-record.ts';
import { insertSql, selectList } from '../../sqlite/columns.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { partitionTableName } from './partition-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const columns = ['queueId', 'shard', 'subscriber', 'seq', 'attempts', 'record'] as const;
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
      PRIMARY KEY (queue_id, shard, subscriber, seq)
    ) STRICT, WITHOUT ROWID;`,
  createAppliers: (file): WriteAppliers<'evacuate' | 'evacuated attempts' | 'evacuated consumed'> => ({
    evacuate: ({ partition, rows }) => evacuate(file, partition, rows),
    'evacuated attempts': ({ evacuated }) => {
      file.prepare(`UPDATE evacuated SET attempts = @attempts WHERE ${hasKey}`).run(evacuated);
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
    evacuated: file.prepare(`SELECT ${selectList(columns)} FROM evacuated`).all() as EvacuatedRow[],
  }),
} satisfies TableModule;

function evacuate(
  file: SqliteFile,
  partition: PartitionId,
  rows: readonly Omit<EvacuatedRow, 'record'>[],
): void {
  const insert = file.prepare(insertSql('evacuated', columns));
  for (const row of rows) insert.run({ ...row, record: readRecordAt(file, partition, row.seq) });
}

function readRecordAt(file: SqliteFile, partition: PartitionId, seq: number): Uint8Array {
  const { firstSeq, body } = file
    .prepare(
      `SELECT seq AS firstSeq, body FROM ${partitionTableName(partition)} WHERE seq <= ? ORDER BY seq DESC LIMIT 1`,
    )
    .get(seq) as { firstSeq: number; body: Buffer };
  let start = 0;
  for (let at = firstSeq; at < seq; at += 1) start = recordEnd(body, start);
  return body.subarray(start, recordEnd(body, start));
}

/** In order of sequence. */
export function readEvacuatedOfSubscriber(
  file: SqliteFile,
  { queueId, shard, subscriber }: Omit<EvacuatedKey, 'seq'>,
): EvacuatedRow[] {
  return file
    .prepare(
      `SELECT ${selectList(columns)} FROM evacuated
       WHERE queue_id = ? AND shard = ? AND subscriber = ? ORDER BY seq`,
    )
    .all(queueId, shard, subscriber) as EvacuatedRow[];
}
