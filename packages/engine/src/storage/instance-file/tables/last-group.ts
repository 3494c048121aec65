/**
 * Which groups an instance's file has. The table `meta` holds the `epoch`, raised at every opening and compared in every
 * transaction, so that a process that lost the instance cannot write to it, and `last_group`, the last group that the tables have.
 * Groups leave their numbers in blocks and rows of `consumption` too, which tell if that row is older than they are.
 * The number of the last group that was acknowledged as durable is beside the file (`write-ahead-log.ts`).
 */

import type { QueueError } from '../../../api/errors.ts';
import { formatGroupNumber, groupsPerEpoch } from '../../../model/group-number.ts';
import type { Epoch, PartitionId } from '../../../model/ids.ts';
import { readLogEnd } from '../../redo/log-end.ts';
import { assertNoneMissing, type FileEnd } from '../../sqlite/missing-commits.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { lastGroupOfPartition } from './read-partition.ts';
import { readLastGroupSql, readRedoLog } from './redo-tables.ts';
import type { TableModule } from './table-module.ts';

export const metaTable = {
  schemaSql: `
    CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta (key, value) VALUES ('epoch', 0);`,
  uncountedTables: ['meta'],
} satisfies TableModule;

export const readEpochSql = "SELECT value FROM meta WHERE key = 'epoch'";
export const raiseEpochSql = "BEGIN IMMEDIATE; UPDATE meta SET value = value + 1 WHERE key = 'epoch'; COMMIT";

/** The epoch becomes at least this one. */
export function raiseEpochTo(file: SqliteFile, epoch: Epoch): void {
  file.prepare("UPDATE meta SET value = max(value, ?) WHERE key = 'epoch'").run(epoch);
}

export function findLastGroup(file: SqliteFile): FileEnd {
  const selectNumber = (sql: string) => (file.prepare(sql).pluck().get() as number | null | undefined) ?? 0;
  let number = Math.max(selectNumber(readEpochSql) * groupsPerEpoch, selectNumber(readLastGroupSql));
  let fullyRead = true;
  const include = (find: () => number) => {
    try {
      number = Math.max(number, find());
    } catch {
      fullyRead = false;
    }
  };
  include(() => selectNumber('SELECT max(group_number) FROM consumption'));
  const partitions = file.prepare('SELECT partition FROM partition WHERE queue_id IS NOT NULL').pluck();
  for (const partition of partitions.all() as PartitionId[])
    include(() => lastGroupOfPartition(file, partition));
  return { number, fullyRead };
}

/** What is durable: in the redo log, or in the tables if statements of the application wrote it. */
export interface DurableEnd extends FileEnd {
  /** Groups of the log that the tables do not have yet. */
  unapplied: number;
}

/** Throws `COMMITS_MISSING` if the redo log proves that some of its groups are. */
export function findDurableEnd(path: string, file: SqliteFile): DurableEnd {
  const inTables = findLastGroup(file);
  const log = inOneSnapshot(file, () => readRedoLog(file));
  const { last, unapplied } = log === undefined ? { last: 0, unapplied: 0 } : readLogEnd(path, log);
  return { ...inTables, number: Math.max(inTables.number, last), unapplied };
}

function inOneSnapshot<T>(file: SqliteFile, read: () => T): T {
  return file.inTransaction ? read() : file.transaction(read)();
}

/**
 * The applier of a process that has the file open may write over a part of the log between two reads, which looks like missing commits:
 * a later snapshot sees what it has applied.
 */
export function withLaterSnapshots<T>(read: () => T): T {
  for (let attempts = 5; ; attempts -= 1) {
    try {
      return read();
    } catch (error) {
      if (attempts === 1 || (error as QueueError).code !== 'COMMITS_MISSING') throw error;
    }
  }
}

/** Also throws `COMMITS_MISSING` for a file from before the opening with the epoch `epochKnown`, and for one that is gone. */
export function assertNoCommitsMissing(path: string, epochKnown: Epoch = 0): void {
  withLaterSnapshots(() =>
    assertNoneMissing(path, {
      known: epochKnown * groupsPerEpoch,
      read: (file) => findDurableEnd(path, file),
      inWords: (group) => `group ${formatGroupNumber(group)}`,
    }),
  );
}
