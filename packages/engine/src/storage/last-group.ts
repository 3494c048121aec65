/**
 * Which group commit of an instance's file is the last one found in it. Every group leaves its number: in a block, in a
 * delta of consumption, or, if it changed the pool or had neither, in `meta`.
 */
import { existsSync } from 'node:fs';
import { QueueError } from '../core/errors.ts';
import { acknowledgedPath, readAcknowledged } from './acknowledged.ts';
import { lastGroupOf } from './partition-table.ts';
import { mapSqliteErrors, openSqlite, type SqliteFile } from './sqlite.ts';

/** Group numbers of an epoch start above its number times this, so that none comes twice; this itself is its opening. */
export const groupsPerEpoch = 2 ** 32;

export interface LastGroup {
  no: number;
  /** False if a part of the file could not be read: then later groups may be there. */
  certain: boolean;
}

export function findLastGroup(file: SqliteFile): LastGroup {
  const one = (sql: string) => (file.prepare(sql).pluck().get() as number | null | undefined) ?? 0;
  let no = Math.max(
    one("SELECT value FROM meta WHERE key = 'epoch'") * groupsPerEpoch,
    one("SELECT value FROM meta WHERE key = 'group'"),
  );
  let certain = true;
  const look = (find: () => number) => {
    try {
      no = Math.max(no, find());
    } catch {
      certain = false;
    }
  };
  look(() => one('SELECT max(group_no) FROM consumption'));
  const partitions = file.prepare('SELECT partition FROM partition WHERE queue_id IS NOT NULL').pluck();
  for (const partition of partitions.all() as number[]) look(() => lastGroupOf(file, partition));
  return { no, certain };
}

/**
 * Throws `COMMITS_MISSING` if groups that were acknowledged are not in the file. Only reads, over a connection of its own
 * that cannot write, so what is left of the log stays as it is for whoever looks into it.
 */
export function assertAcknowledged(path: string): void {
  const acknowledged = mapSqliteErrors(path, () => readAcknowledged(acknowledgedPath(path)));
  if (acknowledged === undefined) return;
  const { no, certain } = existsSync(path) ? lastGroupIn(path) : { no: 0, certain: true };
  if (no >= acknowledged || !certain) return;
  throw new QueueError('COMMITS_MISSING', {
    sentence: `${path} ends with group ${groupInWords(no)}, but ${groupInWords(acknowledged)} was acknowledged: its write-ahead log is damaged or missing`,
    details: { path, found: no, acknowledged },
  });
}

export function lastGroupIn(path: string): LastGroup {
  const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
  try {
    return mapSqliteErrors(path, () => {
      const isEmpty = file.pragma('user_version', { simple: true }) === 0;
      return isEmpty ? { no: 0, certain: true } : findLastGroup(file);
    });
  } finally {
    file.close();
  }
}

/** Groups are numbered within an epoch. */
export function groupInWords(groupNo: number): string {
  return `${groupNo % groupsPerEpoch} of epoch ${Math.floor(groupNo / groupsPerEpoch)}`;
}
