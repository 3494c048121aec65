/**
 * Which groups an instance's file has. The table `meta` holds the `epoch`, raised at every opening and compared in every
 * commit, so that a process that lost the instance cannot write to it, and `last_group`: every group leaves its number in
 * a block or in a row of `consumption`, or here if it wrote neither or also wrote other tables.
 *
 * The number of the last group that was acknowledged as durable is kept beside the file, in `instance-N.ack`. A damaged
 * frame of the write-ahead log makes SQLite drop its commit and every later one silently; by this number recovery notices
 * (`docs/decisions/what-was-acknowledged.md`). It is written after the group's sync and before its acknowledgement
 * (measured: 0.6 µs), and not synced itself: a killed process loses nothing of it, and after a power cut it may be older,
 * but never newer, than the last group in the log.
 *
 *     f64 group number · u32 CRC-32 of those eight bytes
 */
import { closeSync, existsSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { QueueError } from '../../../api/errors.ts';
import { formatGroupNumber, groupsPerEpoch } from '../../../model/group-number.ts';
import type { GroupNumber } from '../../../model/ids.ts';
import { isNewFile } from '../../sqlite/file-format.ts';
import {
  mapSqliteErrors,
  openSqlite,
  type SqliteFile,
  type SqliteStatement,
} from '../../sqlite/open-sqlite.ts';
import { syncFolder } from '../../sqlite/sync-folder.ts';
import { lastGroupOfPartition } from './read-partition.ts';
import type { TableModule } from './table-module.ts';

export const metaTable = {
  schemaSql: `
    CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta (key, value) VALUES ('epoch', 0);`,
} satisfies TableModule;

const readEpochSql = "SELECT value FROM meta WHERE key = 'epoch'";
const readLastGroupSql = "SELECT value FROM meta WHERE key = 'last_group'";

export class MetaTable {
  readonly #file: SqliteFile;
  readonly #selectEpoch: SqliteStatement;
  readonly #upsertLastGroup: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#selectEpoch = file.prepare(readEpochSql).pluck();
    this.#upsertLastGroup = file.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('last_group', ?)");
  }

  get epoch(): number {
    return this.#selectEpoch.get() as number;
  }

  /** In a transaction of its own; returns the new epoch. */
  raiseEpoch(): number {
    this.#file.exec("BEGIN IMMEDIATE; UPDATE meta SET value = value + 1 WHERE key = 'epoch'; COMMIT");
    return this.epoch;
  }

  writeLastGroup(groupNumber: GroupNumber): void {
    this.#upsertLastGroup.run(groupNumber);
  }
}

/** For a repair: the epoch becomes at least this one. */
export function raiseEpochTo(file: SqliteFile, epoch: number): void {
  file.prepare("UPDATE meta SET value = max(value, ?) WHERE key = 'epoch'").run(epoch);
}

const acknowledgedBytes = 12;

export function acknowledgedGroupPath(instancePath: string): string {
  return instancePath.replace(/\.db$/, '.ack');
}

/** The number in the file, or undefined if it is missing or damaged. */
export function readAcknowledgedGroup(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const content = Buffer.alloc(acknowledgedBytes);
  const handle = openSync(path, 'r');
  try {
    if (readSync(handle, content, 0, acknowledgedBytes, 0) < acknowledgedBytes) return undefined;
  } finally {
    closeSync(handle);
  }
  return content.readUInt32LE(8) === crc32(content.subarray(0, 8)) ? content.readDoubleLE(0) : undefined;
}

export class AcknowledgedGroupFile {
  readonly #descriptor: number;
  readonly #content = Buffer.alloc(acknowledgedBytes);

  /** Opens or creates the file. The name of a new one is durable when this returns. */
  constructor(path: string) {
    const isNew = !existsSync(path);
    this.#descriptor = openSync(path, isNew ? 'w+' : 'r+');
    if (isNew) syncFolder(dirname(path));
  }

  /** A failed write is ignored: the older number that stays is still right, only less exact. */
  write(groupNumber: GroupNumber): void {
    try {
      this.#writeContent(groupNumber);
    } catch {}
  }

  #writeContent(groupNumber: GroupNumber): void {
    this.#content.writeDoubleLE(groupNumber, 0);
    this.#content.writeUInt32LE(crc32(this.#content.subarray(0, 8)), 8);
    writeSync(this.#descriptor, this.#content, 0, acknowledgedBytes, 0);
  }

  /** Writes and syncs: when a file is opened, not for each group. */
  writeDurably(groupNumber: GroupNumber): void {
    this.#writeContent(groupNumber);
    fsyncSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

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
