/**
 * Messages that moved between this instance's file and those of others. The sender numbers its batches and never reuses a
 * number. The receiver stores a batch's number in the commit that stores its messages; the sender stores it in the commit
 * that marks them as moved. There is one row for each shard and peer; rows stay, since they carry the totals.
 */
import type { ForwardedInRow, ForwardedOutRow } from '../../../model/forwarding-row.ts';
import { idRunsBytes, readIdRuns, writeIdRuns } from '../../../model/id-runs.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const forwardedOut = new CheckedTable<Omit<ForwardedOutRow, 'unsettled'> & { unsettled: number }>({
  name: 'forwarded_out',
  columns: ['queueId', 'shard', 'receiver', 'batchNumber', 'messagesTotal', 'unsettled'],
  key: ['queueId', 'shard', 'receiver'],
});
const forwardedIn = new CheckedTable<Omit<ForwardedInRow, 'batchIdRuns'> & { batchIdRuns: Buffer }>({
  name: 'forwarded_in',
  columns: ['queueId', 'shard', 'sender', 'batchNumber', 'batchIdRuns', 'messagesTotal'],
  key: ['queueId', 'shard', 'sender'],
});

export const forwardingTables = {
  schemaSql: `
    CREATE TABLE forwarded_out (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      receiver INTEGER NOT NULL,
      batch_number INTEGER NOT NULL,   -- the last batch whose messages are marked as moved in this file
      messages_total INTEGER NOT NULL,
      unsettled INTEGER NOT NULL,      -- 1: ask the receiver what it has before more of the shard is delivered here
      crc INTEGER NOT NULL,
      PRIMARY KEY (queue_id, shard, receiver)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE forwarded_in (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      sender INTEGER NOT NULL,
      batch_number INTEGER NOT NULL,   -- the last batch received
      batch_id_runs BLOB NOT NULL,     -- its messages in the sender's logs: u32 log, f64 first sequence, u32 count, …
      messages_total INTEGER NOT NULL,
      crc INTEGER NOT NULL,
      PRIMARY KEY (queue_id, shard, sender)
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [forwardedOut, forwardedIn],
  createAppliers: (file): WriteAppliers<'forwarded out' | 'forwarded in'> => ({
    'forwarded out': ({ row }) => {
      forwardedOut.createWriter(file)({ ...row, unsettled: Number(row.unsettled) });
    },
    'forwarded in': ({ row }) => {
      const batchIdRuns = Buffer.alloc(idRunsBytes(row.batchIdRuns));
      writeIdRuns(batchIdRuns, 0, row.batchIdRuns);
      forwardedIn.createWriter(file)({ ...row, batchIdRuns });
    },
  }),
  deleteQueue(file, queueId) {
    file.prepare('DELETE FROM forwarded_out WHERE queue_id = ?').run(queueId);
    file.prepare('DELETE FROM forwarded_in WHERE queue_id = ?').run(queueId);
  },
  recover: (file) => ({ forwardedOut: readForwardedOut(file), forwardedIn: readForwardedIn(file) }),
} satisfies TableModule;

export function readForwardedOut(file: SqliteFile): ForwardedOutRow[] {
  return forwardedOut.read(file).map((row) => ({ ...row, unsettled: row.unsettled === 1 }));
}

export function readForwardedIn(file: SqliteFile): ForwardedInRow[] {
  return forwardedIn.read(file).map((row) => ({
    ...row,
    batchIdRuns: readIdRuns(row.batchIdRuns, 0, row.batchIdRuns.length),
  }));
}
