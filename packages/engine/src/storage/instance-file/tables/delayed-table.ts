/**
 * Delayed messages of an instance, ordered by due time. They are kept out of the partitions, which they would keep from
 * being truncated. One commit appends a due message to its shard and deletes it here. Due times are of `model/delay-clock.ts`,
 * whose last stored moment is `delay_offset_ms` and `delay_at_ms` in `meta`.
 */

import type { DelayMoment } from '../../../model/delay-clock.ts';
import {
  type DelayedKey,
  type DelayedRow,
  type DueMessages,
  delayedSinceMs,
} from '../../../model/delayed-message.ts';
import type { QueueId } from '../../../model/ids.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

type StoredRow = DelayedRow & { crc: number };

const delayedMessages = new CheckedTable<DelayedRow>({
  name: 'delayed',
  columns: ['dueAtMs', 'delayedId', 'queueId', 'shard', 'record'],
  key: ['dueAtMs', 'delayedId'],
});

export const delayedTable = {
  schemaSql: `
    CREATE TABLE delayed (
      due_at_ms INTEGER NOT NULL,
      delayed_id INTEGER NOT NULL, -- unique in the instance
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,      -- the log that gets the message when it is due
      record BLOB NOT NULL,
      crc INTEGER NOT NULL,        -- over the columns before it
      PRIMARY KEY (due_at_ms, delayed_id)
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [delayedMessages],
  createAppliers: (file): WriteAppliers<'insert delayed' | 'delete delayed' | 'delay moment'> => {
    const write = delayedMessages.createWriter(file);
    return {
      'insert delayed': ({ message }) => write(message),
      'delete delayed': ({ message: { dueAtMs, delayedId } }) => {
        file.prepare('DELETE FROM delayed WHERE due_at_ms = ? AND delayed_id = ?').run(dueAtMs, delayedId);
      },
      'delay moment': ({ moment: { offsetMs, atMs } }) => {
        file
          .prepare(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('delay_offset_ms', ?), ('delay_at_ms', ?)",
          )
          .run(offsetMs, atMs);
      },
    };
  },
  /** Scans the whole table: queues are dropped rarely. */
  deleteQueue(file, queueId) {
    file.prepare('DELETE FROM delayed WHERE queue_id = ?').run(queueId);
  },
  recover: (file) => ({
    delayedCounts: countDelayed(file),
    nextDueAtMs: readDueMessages(file, { nowMs: 0, bytesMax: 0 }).nextDueAtMs,
    delayClock: { moment: readDelayMoment(file), lastEnqueuedAtMs: readLastEnqueuedAtMs(file) },
  }),
} satisfies TableModule;

/**
 * Messages due at `nowMs` in order of due time, up to about `bytesMax`. Relies on the primary key. A damaged row is
 * skipped and stays in the table.
 */
export function readDueMessages(
  file: SqliteFile,
  { nowMs, bytesMax }: { nowMs: number; bytesMax: number },
): DueMessages {
  const stored = file
    .prepare(`SELECT ${delayedMessages.selectList} FROM delayed ORDER BY due_at_ms, delayed_id`)
    .iterate() as IterableIterator<StoredRow>;
  const rows: DelayedRow[] = [];
  let bytes = 0;
  for (const { crc, ...row } of stored) {
    if (!delayedMessages.isUndamaged({ crc, ...row })) continue;
    if (row.dueAtMs > nowMs || bytes >= bytesMax) return { rows, nextDueAtMs: row.dueAtMs };
    rows.push(row);
    bytes += row.record.byteLength;
  }
  return { rows, nextDueAtMs: null };
}

/**
 * Delayed messages of one queue behind a key, in order of due time, up to about `bytesMax`; `more`: others follow. Relies
 * on the primary key; skips rows of other queues and damaged ones.
 */
export function readDelayedOfQueue(
  file: SqliteFile,
  { queueId, after, bytesMax }: { queueId: QueueId; after: DelayedKey; bytesMax: number },
): { rows: DelayedRow[]; more: boolean } {
  const stored = file
    .prepare(
      `SELECT ${delayedMessages.selectList} FROM delayed
       WHERE (due_at_ms, delayed_id) > (?, ?) AND queue_id = ? ORDER BY due_at_ms, delayed_id`,
    )
    .iterate(after.dueAtMs, after.delayedId, queueId) as IterableIterator<StoredRow>;
  const rows: DelayedRow[] = [];
  let bytes = 0;
  for (const { crc, ...row } of stored) {
    if (!delayedMessages.isUndamaged({ crc, ...row })) continue;
    if (bytes >= bytesMax) return { rows, more: true };
    rows.push(row);
    bytes += row.record.byteLength;
  }
  return { rows, more: false };
}

function countDelayed(file: SqliteFile): Map<QueueId, number> {
  const rows = file
    .prepare('SELECT queue_id AS queueId, count(*) AS messages FROM delayed GROUP BY queue_id')
    .all() as { queueId: QueueId; messages: number }[];
  return new Map(rows.map(({ queueId, messages }) => [queueId, messages]));
}

function readDelayMoment(file: SqliteFile): DelayMoment | null {
  const select = file.prepare('SELECT value FROM meta WHERE key = ?').pluck();
  const offsetMs = select.get('delay_offset_ms') as number | undefined;
  const atMs = select.get('delay_at_ms') as number | undefined;
  return offsetMs === undefined || atMs === undefined ? null : { offsetMs, atMs };
}

/** Ids ascend in the order of the enqueues, so the highest one is the newest. One pass over the table. */
function readLastEnqueuedAtMs(file: SqliteFile): number | null {
  const newest = file
    .prepare(
      `SELECT ${delayedMessages.selectList} FROM delayed WHERE delayed_id = (SELECT max(delayed_id) FROM delayed)`,
    )
    .get() as StoredRow | undefined;
  if (newest === undefined || !delayedMessages.isUndamaged(newest)) return null;
  return delayedSinceMs(newest);
}
