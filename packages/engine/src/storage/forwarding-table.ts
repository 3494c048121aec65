/**
 * What moved between this instance's file and those of others. A batch has a number that its giver counts up and never
 * uses again; the receiver stores it with the messages, the giver with their consumption here, each in one commit.
 * Rows are few (a shard and a peer) and stay, since they carry the totals.
 */
import { type IdRun, idRunsBytes, readIdRuns, writeIdRuns } from './id-runs.ts';
import type { SqliteFile } from './sqlite.ts';

export const forwardingStep = `
  CREATE TABLE lent (            -- went to another instance
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    receiver INTEGER NOT NULL,
    batch_no INTEGER NOT NULL,   -- the last one that is consumed here as moved
    messages INTEGER NOT NULL,   -- in all
    open INTEGER NOT NULL,       -- 1: the receiver is to be asked before more of the shard is delivered here
    PRIMARY KEY (queue_id, shard, receiver)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE borrowed (        -- came from another instance
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    giver INTEGER NOT NULL,
    batch_no INTEGER NOT NULL,   -- the last one that came
    extent BLOB NOT NULL,        -- of it, in the giver's logs: u32 log, f64 first sequence, u32 count, …
    messages INTEGER NOT NULL,   -- in all
    PRIMARY KEY (queue_id, shard, giver)
  ) STRICT, WITHOUT ROWID;
`;

export interface LentRow {
  queueId: number;
  shard: number;
  receiver: number;
  batchNo: number;
  messages: number;
  open: boolean;
}

export interface BorrowedRow {
  queueId: number;
  shard: number;
  giver: number;
  batchNo: number;
  extent: readonly IdRun[];
  messages: number;
}

export function writeLent(file: SqliteFile, row: LentRow): void {
  const { queueId, shard, receiver, batchNo, messages, open } = row;
  file
    .prepare('INSERT OR REPLACE INTO lent VALUES (?, ?, ?, ?, ?, ?)')
    .run(queueId, shard, receiver, batchNo, messages, Number(open));
}

export function writeBorrowed(file: SqliteFile, row: BorrowedRow): void {
  const { queueId, shard, giver, batchNo, messages } = row;
  const extent = Buffer.alloc(idRunsBytes(row.extent));
  writeIdRuns(extent, 0, row.extent);
  file
    .prepare('INSERT OR REPLACE INTO borrowed VALUES (?, ?, ?, ?, ?, ?)')
    .run(queueId, shard, giver, batchNo, extent, messages);
}

export function deleteForwardingOfQueue(file: SqliteFile, queueId: number): void {
  for (const table of ['lent', 'borrowed']) {
    file.prepare(`DELETE FROM ${table} WHERE queue_id = ?`).run(queueId);
  }
}

export function readLent(file: SqliteFile): LentRow[] {
  const rows = file
    .prepare('SELECT queue_id AS queueId, shard, receiver, batch_no AS batchNo, messages, open FROM lent')
    .all() as (Omit<LentRow, 'open'> & { open: number })[];
  return rows.map((row) => ({ ...row, open: row.open === 1 }));
}

export function readBorrowed(file: SqliteFile): BorrowedRow[] {
  const rows = file
    .prepare('SELECT queue_id AS queueId, shard, giver, batch_no AS batchNo, extent, messages FROM borrowed')
    .all() as (Omit<BorrowedRow, 'extent'> & { extent: Buffer })[];
  return rows.map((row) => ({ ...row, extent: readIdRuns(row.extent, 0, row.extent.length) }));
}
