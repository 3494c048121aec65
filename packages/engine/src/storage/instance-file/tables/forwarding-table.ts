/**
 * Messages that moved between this instance's file and those of others. The sender numbers its batches and never reuses a
 * number. The receiver stores a batch's number in the commit that stores its messages; the sender stores it in the commit
 * that marks them as moved. There is one row for each shard and peer; rows stay, since they carry the totals.
 */
import type { ForwardedInRow, ForwardedOutRow } from '../../../model/forwarding-row.ts';
import { idRunsBytes, readIdRuns, writeIdRuns } from '../../../model/id-runs.ts';
import { insertSql, selectList } from '../../sqlite/columns.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const outColumns = ['queueId', 'shard', 'receiver', 'batchNumber', 'messagesTotal', 'unsettled'] as const;
const inColumns = ['queueId', 'shard', 'sender', 'batchNumber', 'batchIdRuns', 'messagesTotal'] as const;

export const forwardingTables = {
  schemaSql: `
    CREATE TABLE forwarded_out (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      receiver INTEGER NOT NULL,
      batch_number INTEGER NOT NULL,   -- the last batch whose messages are marked as moved in this file
      messages_total INTEGER NOT NULL,
      unsettled INTEGER NOT NULL,      -- 1: ask the receiver what it has before more of the shard is delivered here
      PRIMARY KEY (queue_id, shard, receiver)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE forwarded_in (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      sender INTEGER NOT NULL,
      batch_number INTEGER NOT NULL,   -- the last batch received
      batch_id_runs BLOB NOT NULL,     -- its messages in the sender's logs: u32 log, f64 first sequence, u32 count, …
      messages_total INTEGER NOT NULL,
      PRIMARY KEY (queue_id, shard, sender)
    ) STRICT, WITHOUT ROWID;`,
  createAppliers: (file): WriteAppliers<'forwarded out' | 'forwarded in'> => ({
    'forwarded out': ({ row }) => {
      file
        .prepare(insertSql('forwarded_out', outColumns, 'INSERT OR REPLACE'))
        .run({ ...row, unsettled: Number(row.unsettled) });
    },
    'forwarded in': ({ row }) => {
      const batchIdRuns = Buffer.alloc(idRunsBytes(row.batchIdRuns));
      writeIdRuns(batchIdRuns, 0, row.batchIdRuns);
      file.prepare(insertSql('forwarded_in', inColumns, 'INSERT OR REPLACE')).run({ ...row, batchIdRuns });
    },
  }),
  deleteQueue(file, queueId) {
    file.prepare('DELETE FROM forwarded_out WHERE queue_id = ?').run(queueId);
    file.prepare('DELETE FROM forwarded_in WHERE queue_id = ?').run(queueId);
  },
  recover: (file) => ({ forwardedOut: readForwardedOut(file), forwardedIn: readForwardedIn(file) }),
} satisfies TableModule;

function readForwardedOut(file: SqliteFile): ForwardedOutRow[] {
  const rows = file.prepare(`SELECT ${selectList(outColumns)} FROM forwarded_out`).all();
  return (rows as (Omit<ForwardedOutRow, 'unsettled'> & { unsettled: number })[]).map((row) => ({
    ...row,
    unsettled: row.unsettled === 1,
  }));
}

function readForwardedIn(file: SqliteFile): ForwardedInRow[] {
  const rows = file.prepare(`SELECT ${selectList(inColumns)} FROM forwarded_in`).all();
  return (rows as (Omit<ForwardedInRow, 'batchIdRuns'> & { batchIdRuns: Buffer })[]).map((row) => ({
    ...row,
    batchIdRuns: readIdRuns(row.batchIdRuns, 0, row.batchIdRuns.length),
  }));
}
