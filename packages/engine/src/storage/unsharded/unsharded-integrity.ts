/**
 * Whether the unsharded file still holds all that was acknowledged (`docs/decisions/what-was-acknowledged.md`). Each row has a
 * checksum; `queue_total` has the number and the checksum sum of the rows that must exist; the number beside the file is that of
 * the last durable commit.
 */
import { existsSync } from 'node:fs';
import { QueueError } from '../../api/errors.ts';
import type { QueueId, Seq } from '../../model/ids.ts';
import { assertSchemaUndamaged, isNewFile } from '../sqlite/file-format.ts';
import { assertNoneMissing } from '../sqlite/missing-commits.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile, toQueueError } from '../sqlite/open-sqlite.ts';
import { acknowledgedNumberPath, readAcknowledgedNumber } from '../sqlite/write-ahead-log.ts';
import { undamagedDeliverySql } from './delivery-table.ts';
import { isHolderUndamaged, readHolders } from './holder-table.ts';
import { isMessageUndamaged } from './message-table.ts';
import { undamagedTotalSql, wrapSql } from './queue-total-table.ts';
import { topicCountFaults, topicRowFaults } from './topic-integrity.ts';
import { subscribersTotalId } from './topic-subscriber-table.ts';
import { UnshardedOutcomeTable } from './unsharded-outcome-table.ts';
import { unshardedSchemaSql } from './unsharded-schema.ts';

/**
 * Files up to this size are compared with their totals at each opening, in at most 0.2 s; of larger ones the scrub does it.
 * Rows are verified whenever they are read, whatever the size.
 */
const comparedBytesMax = 256 * 1024 * 1024;

/** Whether there is a file of unsharded queues, or was one with acknowledged commits. */
export function unshardedFileIsExpected(path: string): boolean {
  return existsSync(path) || (readAcknowledgedNumber(acknowledgedNumberPath(path)) ?? 0) > 0;
}

export function assertNoUnshardedCommitsMissing(path: string): void {
  assertNoneMissing(path, {
    read: (file) => {
      const found = file.prepare('SELECT commit_number FROM queue_total WHERE queue_id = 0').pluck().get();
      return { number: found as number, fullyRead: true };
    },
    inWords: (commit) => `commit ${commit}`,
  });
}

/** Called when the file is opened, in a read transaction. Throws `STORAGE_CORRUPT`, naming the table and the queue. */
export function assertUnshardedCounted(file: SqliteFile): void {
  const bytes =
    (file.pragma('page_count', { simple: true }) as number) *
    (file.pragma('page_size', { simple: true }) as number);
  if (bytes > comparedBytesMax) return;
  const [fault] = [...structureFaults(file), ...countFaults(file)];
  if (fault !== undefined)
    throw new QueueError('STORAGE_CORRUPT', {
      message: `${file.name}: ${fault}`,
      details: { path: file.name },
    });
}

/** Finds all damage of the file and returns it as sentences. Reads every row and changes nothing. The file may be in use. */
export function findUnshardedFaults(path: string): string[] {
  const faults: string[] = [];
  const collect = (work: () => string[]) => {
    try {
      faults.push(...mapSqliteErrors(path, work));
    } catch (error) {
      faults.push(toQueueError(error, path).message);
    }
  };
  collect(() => {
    assertNoUnshardedCommitsMissing(path);
    return [];
  });
  if (!existsSync(path)) return faults;
  collect(() => {
    const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
    try {
      if (isNewFile(file)) return [];
      file.exec('BEGIN'); // one snapshot
      collect(() => {
        assertSchemaUndamaged(file, unshardedSchemaSql);
        return [];
      });
      collect(() => structureFaults(file, 'integrity_check'));
      collect(() => countFaults(file));
      collect(() => rowFaults(file));
    } finally {
      file.close();
    }
    return [];
  });
  return faults.map((fault) => (fault.includes(path) ? fault : `${path}: ${fault}`));
}

/** Runs SQLite's own check of all pages, or of those of one table; `integrity_check` also compares the indexes with their tables. */
export function structureFaults(
  file: SqliteFile,
  check: 'quick_check' | 'integrity_check' = 'quick_check',
  table?: string,
): string[] {
  const rows = file.pragma(`${check}(${table ?? 10})`) as Record<string, string>[];
  return rows.map((row) => row[check]!).filter((verdict) => verdict !== 'ok');
}

/** How many rows a queue has, and the sum of their checksums modulo 2³². Negative ids: `besideTotalsSql`. */
export interface StoredTotal {
  queueId: QueueId;
  rows: number;
  sum: number;
}

export interface CountedTotal extends StoredTotal {
  /** Number of messages ever added plus ever removed. While it is unchanged, the queue has the same messages. */
  moved: number;
}

/** Reads the counters of each queue, and those of the rows beside the messages, from `queue_total`. */
export function readCountedTotals(file: SqliteFile): CountedTotal[] {
  return file
    .prepare(
      `SELECT queue_id AS queueId, enqueued - consumed AS rows, enqueued + consumed AS moved, checksum_sum AS sum
       FROM queue_total WHERE queue_id <> 0`,
    )
    .all() as CountedTotal[];
}

export function damagedTotalFaults(file: SqliteFile): string[] {
  const damagedTotals = file
    .prepare(`SELECT queue_id FROM queue_total WHERE NOT ${undamagedTotalSql}`)
    .pluck()
    .all() as QueueId[];
  return damagedTotals.map((queueId) => `the counters of queue ${queueId} are damaged (checksum mismatch)`);
}

/** Rows beside the messages, counted as if they were messages of queues with negative ids. */
export const besideTotalsSql = `
  SELECT -1 AS queueId, count(*) AS rows, coalesce(sum(crc), 0) ${wrapSql} AS sum FROM session_outcome
  UNION ALL SELECT ${subscribersTotalId}, count(*), coalesce(sum(crc), 0) ${wrapSql} FROM topic_subscriber`;

/** What the rows with these negative ids are, as a phrase. */
const besideNames = new Map<QueueId, string>([
  [-1, 'outcomes of sessions'],
  [subscribersTotalId, 'subscribers of topics'],
]);

/** Compares the stored rows with the counters in `queue_total`. */
function countFaults(file: SqliteFile): string[] {
  const stored = file
    .prepare(
      `SELECT queue_id AS queueId, count(*) AS rows, sum(crc) ${wrapSql} AS sum FROM message NOT INDEXED GROUP BY queue_id
       UNION ALL ${besideTotalsSql}`,
    )
    .all() as StoredTotal[];
  return [
    ...damagedTotalFaults(file),
    ...differences(readCountedTotals(file), stored),
    ...topicCountFaults(file),
  ];
}

/** Returns the differences as sentences. */
export function differences(counted: readonly StoredTotal[], stored: readonly StoredTotal[]): string[] {
  const faults: string[] = [];
  const storedByQueue = new Map(stored.map((row) => [row.queueId, row]));
  for (const { queueId, rows, sum } of counted) {
    const found = storedByQueue.get(queueId) ?? { rows: 0, sum: 0 };
    storedByQueue.delete(queueId);
    if (found.rows === rows && found.sum === sum) continue;
    const what = besideNames.get(queueId) ?? `messages of queue ${queueId}`;
    faults.push(
      found.rows === rows
        ? `the ${rows} ${what} are not those that were stored (checksum mismatch)`
        : `${rows} ${what} should be stored, but ${found.rows} were found`,
    );
  }
  for (const { queueId, rows } of storedByQueue.values())
    faults.push(
      besideNames.has(queueId)
        ? `the counters of ${besideNames.get(queueId)} are missing`
        : `queue ${queueId} has ${rows} messages but no counters`,
    );
  return faults;
}

/** Compares the stored outcomes of sessions, and the subscribers of topics, with their counters. */
export function besideFaults(file: SqliteFile): string[] {
  return differences(
    readCountedTotals(file).filter(({ queueId }) => besideNames.has(queueId)),
    file.prepare(besideTotalsSql).all() as StoredTotal[],
  );
}

/** Verifies the checksum of every row. */
function rowFaults(file: SqliteFile): string[] {
  const faults: string[] = [];
  for (const row of file.prepare(`SELECT ${messageColumns} FROM message NOT INDEXED`).iterate())
    faults.push(...messageFaults(row as MessageRow));
  const deliveries = file
    .prepare(`SELECT queue_id AS queueId, id FROM delivery WHERE NOT ${undamagedDeliverySql}`)
    .all() as { queueId: QueueId; id: Seq }[];
  return [
    ...faults,
    ...deliveries.map(deliveryFault),
    ...topicRowFaults(file),
    ...holderAndOutcomeFaults(file),
  ];
}

export const messageColumns = 'id, queue_id AS queueId, crc, record';
export type MessageRow = Parameters<typeof isMessageUndamaged>[0];

export function messageFaults(row: MessageRow): string[] {
  return isMessageUndamaged(row)
    ? []
    : [`message ${row.id} of queue ${row.queueId} is damaged (checksum mismatch)`];
}

export function deliveryFault({ queueId, id }: { queueId: QueueId; id: Seq }): string {
  return `the delivery of message ${id} of queue ${queueId} is damaged (checksum mismatch)`;
}

/** Checks all rows in one go: there is only one for each process and each remote session. */
export function holderAndOutcomeFaults(file: SqliteFile): string[] {
  const faults = readHolders(file)
    .filter((row) => !isHolderUndamaged(row))
    .map(({ holder }) => `holder ${holder} is damaged (checksum mismatch)`);
  new UnshardedOutcomeTable(file).read(0);
  return faults;
}
