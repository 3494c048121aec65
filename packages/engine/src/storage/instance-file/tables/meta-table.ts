/**
 * `epoch`: raised at every opening and compared in every commit, so that a process that lost the instance cannot write to
 * it. `last_group`: the last group that left its number nowhere else (`recovery/last-group.ts`).
 */
import type { GroupNumber } from '../../../model/ids.ts';
import type { SqliteFile, SqliteStatement } from '../../sqlite/open-sqlite.ts';
import type { TableModule } from './table-module.ts';

export const metaTable = {
  schemaSql: `
    CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta (key, value) VALUES ('epoch', 0);`,
} satisfies TableModule;

export const readEpochSql = "SELECT value FROM meta WHERE key = 'epoch'";
export const readLastGroupSql = "SELECT value FROM meta WHERE key = 'last_group'";

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
