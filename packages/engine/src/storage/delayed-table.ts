/**
 * Delayed messages of an instance, ordered by when they are due: kept out of the partitions, which they would pin. A
 * message that is due is appended to its shard and removed here in one commit.
 */
import { delayedChecksum } from './checksum.ts';
import type { SqliteFile } from './sqlite.ts';

export const delayedStep = `
  CREATE TABLE delayed (
    due_at_ms INTEGER NOT NULL,
    no INTEGER NOT NULL,        -- unique in the instance
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,     -- where it goes when it is due
    record BLOB NOT NULL,
    crc INTEGER NOT NULL,       -- over the columns before it
    PRIMARY KEY (due_at_ms, no)
  ) STRICT, WITHOUT ROWID;
`;

export interface DelayedRow {
  dueAtMs: number;
  no: number;
  queueId: number;
  shard: number;
  record: Uint8Array;
}

export function insertDelayed(file: SqliteFile, row: DelayedRow): void {
  const { dueAtMs, no, queueId, shard, record } = row;
  file
    .prepare('INSERT INTO delayed (due_at_ms, no, queue_id, shard, record, crc) VALUES (?, ?, ?, ?, ?, ?)')
    .run(dueAtMs, no, queueId, shard, record, delayedChecksum(row));
}

export function deleteDelayed(file: SqliteFile, { dueAtMs, no }: Pick<DelayedRow, 'dueAtMs' | 'no'>): void {
  file.prepare('DELETE FROM delayed WHERE due_at_ms = ? AND no = ?').run(dueAtMs, no);
}

/** A scan of the whole table: queues are dropped rarely. */
export function deleteDelayedOfQueue(file: SqliteFile, queueId: number): void {
  file.prepare('DELETE FROM delayed WHERE queue_id = ?').run(queueId);
}

export interface DueMessages {
  rows: DelayedRow[];
  /** When the first one that is not among `rows` is due; null if there is none. */
  nextDueAtMs: number | null;
}

/**
 * Those that are due at `nowMs`, the longest due first, up to about `bytesMax`. Relies on the table's key. One that is not
 * what was written stays where it is.
 */
export function readDue(
  file: SqliteFile,
  { nowMs, bytesMax }: { nowMs: number; bytesMax: number },
): DueMessages {
  const rows = file
    .prepare(
      `SELECT due_at_ms AS dueAtMs, no, queue_id AS queueId, shard, record, crc FROM delayed
       ORDER BY due_at_ms, no`,
    )
    .iterate() as IterableIterator<DelayedRow & { crc: number }>;
  const due: DelayedRow[] = [];
  let bytes = 0;
  for (const { crc, ...row } of rows) {
    if (crc !== delayedChecksum(row)) continue;
    if (row.dueAtMs > nowMs || bytes >= bytesMax) return { rows: due, nextDueAtMs: row.dueAtMs };
    due.push(row);
    bytes += row.record.byteLength;
  }
  return { rows: due, nextDueAtMs: null };
}

/** Where a delayed message lies. */
export type DelayedPlace = Pick<DelayedRow, 'dueAtMs' | 'no'>;

/**
 * Those of one queue behind a place, the first due first, up to about `bytesMax`; `more`: there are others behind them.
 * Relies on the table's key; passes over other queues' rows, and over what is not what was written.
 */
export function readDelayedOf(
  file: SqliteFile,
  { queueId, after, bytesMax }: { queueId: number; after: DelayedPlace; bytesMax: number },
): { rows: DelayedRow[]; more: boolean } {
  const rows = file
    .prepare(
      `SELECT due_at_ms AS dueAtMs, no, queue_id AS queueId, shard, record, crc FROM delayed
       WHERE (due_at_ms, no) > (?, ?) AND queue_id = ? ORDER BY due_at_ms, no`,
    )
    .iterate(after.dueAtMs, after.no, queueId) as IterableIterator<DelayedRow & { crc: number }>;
  const found: DelayedRow[] = [];
  let bytes = 0;
  for (const { crc, ...row } of rows) {
    if (crc !== delayedChecksum(row)) continue;
    if (bytes >= bytesMax) return { rows: found, more: true };
    found.push(row);
    bytes += row.record.byteLength;
  }
  return { rows: found, more: false };
}

/** By queue: how many there are. */
export function countDelayed(file: SqliteFile): Map<number, number> {
  const rows = file
    .prepare('SELECT queue_id AS queueId, count(*) AS messages FROM delayed GROUP BY queue_id')
    .all() as { queueId: number; messages: number }[];
  return new Map(rows.map(({ queueId, messages }) => [queueId, messages]));
}

/** How many are not what was written. */
export function countDamagedDelayed(file: SqliteFile): number {
  const rows = file
    .prepare('SELECT due_at_ms AS dueAtMs, no, queue_id AS queueId, shard, record, crc FROM delayed')
    .iterate() as IterableIterator<DelayedRow & { crc: number }>;
  let damaged = 0;
  for (const { crc, ...row } of rows) if (crc !== delayedChecksum(row)) damaged += 1;
  return damaged;
}
