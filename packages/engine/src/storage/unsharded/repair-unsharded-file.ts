/**
 * Makes the unsharded file usable again and gives up what is lost, for a person to decide who has a copy of the folder. No
 * process may have the file open. Damaged rows are deleted and the rest is counted anew; ids continue above all that can
 * have been given out.
 */
import { existsSync, rmSync } from 'node:fs';
import type { CommitNumber, InstanceId, QueueId, TransactionNumber } from '../../model/ids.ts';
import { rowChecksum } from '../checksum.ts';
import { prepareFormat } from '../sqlite/file-format.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from '../sqlite/open-sqlite.ts';
import { acknowledgedNumberPath, readAcknowledgedNumber } from '../sqlite/write-ahead-log.ts';
import { undamagedDeliverySql } from './delivery-table.ts';
import type { MessageKey } from './message-consumer.ts';
import { isMessageUndamaged } from './message-table.ts';
import { wrapSql } from './queue-total-table.ts';
import { dropDamagedTopicRows, recountTopics } from './repair-topics.ts';
import { besideTotalsSql, findUnshardedFaults } from './unsharded-integrity.ts';
import { unshardedSchemaSql } from './unsharded-schema.ts';

/** More ids than the lost commits can have given out. */
const skippedIds = 2 ** 32;

/** Returns what was wrong, in sentences; the file is not touched if nothing was. Throws the storage errors. */
export function repairUnshardedFile(path: string): string[] {
  const faults = findUnshardedFaults(path);
  if (faults.length === 0) return faults;
  const acknowledgedPath = acknowledgedNumberPath(path);
  const acknowledged = readAcknowledgedNumber(acknowledgedPath) ?? 0;
  if (!existsSync(path)) {
    rmSync(acknowledgedPath, { force: true }); // a new file starts at the first number
    return faults;
  }
  const file = openSqlite({ path, busyMs: 1_000 });
  try {
    mapSqliteErrors(path, () => {
      prepareFormat(file, unshardedSchemaSql);
      file.exec('REINDEX');
      file.transaction(() => dropDamagedRows(file)).immediate();
      file.transaction(() => countAnew(file, acknowledged)).immediate();
    });
  } finally {
    file.close();
  }
  return faults;
}

function dropDamagedRows(file: SqliteFile): void {
  const messages = file
    .prepare('SELECT id, queue_id AS queueId, crc, record FROM message NOT INDEXED')
    .all() as (MessageKey & { record: Buffer })[];
  const remove = file.prepare('DELETE FROM message WHERE id = ?');
  for (const row of messages) if (!isMessageUndamaged(row)) remove.run(row.id);
  file.exec(`DELETE FROM delivery WHERE NOT ${undamagedDeliverySql} OR id NOT IN (SELECT id FROM message);
    DELETE FROM holder; UPDATE delivery SET holder = 0`);
  dropDamagedTopicRows(file);
  const outcomes = file
    .prepare('SELECT session_id, instance, transaction_number, enqueued_id_runs, crc FROM session_outcome')
    .raw()
    .all() as [Buffer, InstanceId, TransactionNumber, Buffer, crc: number][];
  const forget = file.prepare('DELETE FROM session_outcome WHERE session_id = ?');
  for (const [sessionId, instance, transactionNumber, ids, crc] of outcomes)
    if (crc !== rowChecksum([sessionId, instance, transactionNumber, ids])) forget.run(sessionId);
}

/** Each row that is written gets a right checksum. */
function countAnew(file: SqliteFile, acknowledged: CommitNumber): void {
  file.exec(
    'INSERT OR IGNORE INTO queue_total (queue_id, enqueued, consumed) VALUES (0, 0, 0), (-1, 0, 0), (-2, 0, 0)',
  );
  recountTopics(file);
  const stored = file
    .prepare(
      `SELECT queue_id AS queueId, count(*) AS rows, sum(crc) ${wrapSql} AS sum FROM message NOT INDEXED GROUP BY queue_id
       UNION ALL ${besideTotalsSql}`,
    )
    .all() as { queueId: QueueId; rows: number; sum: number }[];
  file.exec('UPDATE queue_total SET consumed = enqueued, checksum_sum = 0 WHERE queue_id <> 0');
  const count = file.prepare(
    `INSERT INTO queue_total (queue_id, enqueued, consumed, checksum_sum) VALUES (@queueId, @rows, 0, @sum)
     ON CONFLICT (queue_id) DO UPDATE SET enqueued = max(enqueued, @rows), consumed = max(enqueued, @rows) - @rows,
       checksum_sum = @sum`,
  );
  for (const row of stored) count.run(row);
  file
    .prepare(
      `UPDATE queue_total SET enqueued = max(enqueued, coalesce((SELECT max(id) FROM message), 0)) + ?,
         commit_number = max(commit_number, ?) WHERE queue_id = 0`,
    )
    .run(skippedIds, acknowledged);
}
