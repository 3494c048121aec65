/**
 * The last group commit that is found in an instance's file. Every group leaves its number: in a block, in a row of
 * `consumption`, or in `meta` if it wrote neither or also wrote other tables.
 */

import { existsSync } from 'node:fs';
import { QueueError } from '../../../api/errors.ts';
import { formatGroupNumber, groupsPerEpoch } from '../../../model/group-number.ts';
import type { GroupNumber } from '../../../model/ids.ts';
import { isNewFile } from '../../sqlite/file-format.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from '../../sqlite/open-sqlite.ts';
import { readEpochSql, readLastGroupSql } from '../tables/meta-table.ts';
import { lastGroupOfPartition } from '../tables/partition-table.ts';
import { acknowledgedGroupPath, readAcknowledgedGroup } from './acknowledged-group-file.ts';

export interface LastGroup {
  groupNumber: GroupNumber;
  /** False if a part of the file could not be read, where later groups may be. */
  fullyRead: boolean;
}

export function findLastGroup(file: SqliteFile): LastGroup {
  const selectNumber = (sql: string) => (file.prepare(sql).pluck().get() as number | null | undefined) ?? 0;
  let groupNumber = Math.max(selectNumber(readEpochSql) * groupsPerEpoch, selectNumber(readLastGroupSql));
  let fullyRead = true;
  const include = (find: () => number) => {
    try {
      groupNumber = Math.max(groupNumber, find());
    } catch {
      fullyRead = false;
    }
  };
  include(() => selectNumber('SELECT max(group_number) FROM consumption'));
  const partitions = file.prepare('SELECT partition FROM partition WHERE queue_id IS NOT NULL').pluck();
  for (const partition of partitions.all() as number[]) include(() => lastGroupOfPartition(file, partition));
  return { groupNumber, fullyRead };
}

/**
 * Throws `COMMITS_MISSING` if groups that were acknowledged are not in the file. Reads over a connection that cannot
 * write, so what is left of the write-ahead log stays as it is for an investigation.
 */
export function assertNoCommitsMissing(path: string): void {
  const acknowledged = mapSqliteErrors(path, () => readAcknowledgedGroup(acknowledgedGroupPath(path)));
  if (acknowledged === undefined) return;
  const { groupNumber, fullyRead } = existsSync(path)
    ? readLastGroup(path)
    : { groupNumber: 0, fullyRead: true };
  if (groupNumber >= acknowledged || !fullyRead) return;
  throw new QueueError('COMMITS_MISSING', {
    message: `${path} ends with group ${formatGroupNumber(groupNumber)}, but ${formatGroupNumber(acknowledged)} was acknowledged: its write-ahead log is damaged or missing`,
    details: { path, found: groupNumber, acknowledged },
  });
}

export function readLastGroup(path: string): LastGroup {
  const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
  try {
    return mapSqliteErrors(path, () => {
      return isNewFile(file) ? { groupNumber: 0, fullyRead: true } : findLastGroup(file);
    });
  } finally {
    file.close();
  }
}
