/**
 * The catalog's file: one for all processes of a cluster, with its queues, members and hosts. It is small and changes
 * rarely, so one checksum over all rows of all tables is kept in it, renewed by each change and compared before the first
 * read of what another connection changed. It also notices a row that a damaged page hides. The number of the last change
 * is kept beside the file as well (`write-ahead-log.ts`), since a damaged log would lose changes in silence.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QueueError } from '../../api/errors.ts';
import type { CatalogChangeNumber, Pid } from '../../model/ids.ts';
import { assertSchemaUndamaged, isNewFile, prepareFormat } from '../sqlite/file-format.ts';
import { faultsInSnapshot, faultsOf } from '../sqlite/find-faults.ts';
import { assertNoneMissing } from '../sqlite/missing-commits.ts';
import {
  mapSqliteErrors,
  openSqlite,
  type SqliteFile,
  type SqliteStatement,
  toQueueError,
} from '../sqlite/open-sqlite.ts';
import { makeFolder } from '../sqlite/sync-folder.ts';
import {
  AcknowledgedNumberFile,
  acknowledgedNumberPath,
  readAcknowledgedNumber,
} from '../sqlite/write-ahead-log.ts';
import { conversionTableSql } from './conversion-table.ts';
import { membershipTablesSql } from './membership-schema.ts';
import { queueTableSql } from './queue-table.ts';
import { subscriberTablesSql } from './subscriber-schema.ts';

const schemaSql = `
  ${queueTableSql}
  CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT;
  ${subscriberTablesSql}
  ${conversionTableSql}
  ${membershipTablesSql}
  CREATE TABLE catalog_state (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    change_number INTEGER NOT NULL, -- of the last change
    checksum INTEGER NOT NULL       -- over it and all rows of all other tables
  ) STRICT;
`;

/** `sqlite_sequence` has the last id of each table whose ids are never reused. */
export const checkedTables = [
  'queue',
  'setting',
  'subscriber',
  'subscriber_applied',
  'conversion',
  'host',
  'member',
  'singleton',
  'sqlite_sequence',
];

export function catalogPath(dir: string): string {
  return join(dir, 'catalog.db');
}

export interface CatalogFileOptions {
  /** Wait for another process's change, which blocks the thread. */
  busyMs: number;
  pid: Pid;
}

export class CatalogFile {
  readonly database: SqliteFile;
  readonly #path: string;
  readonly #acknowledged: AcknowledgedNumberFile;
  readonly #selectDataVersion: SqliteStatement;
  readonly #content: CatalogContent;
  /** `PRAGMA data_version` of what was compared with its checksum. */
  #verifiedVersion: number | undefined;

  /** Opens or creates the file and its folder. Throws the storage errors, `COMMITS_MISSING`. */
  constructor(dir: string, { busyMs, pid }: CatalogFileOptions) {
    this.#path = catalogPath(dir);
    try {
      makeFolder(dir);
    } catch (error) {
      throw new QueueError('STORAGE_READ_ONLY', {
        message: `The folder ${dir} cannot be created or written: ${(error as Error).message}`,
        details: { path: dir },
        cause: error,
      });
    }
    assertNoChangesMissing(this.#path);
    this.database = openSqlite({ path: this.#path, busyMs });
    let acknowledged: AcknowledgedNumberFile | undefined;
    try {
      acknowledged = mapSqliteErrors(this.#path, () => {
        prepareFormat(this.database, schemaSql);
        return new AcknowledgedNumberFile(acknowledgedNumberPath(this.#path), pid);
      });
      this.#acknowledged = acknowledged;
      this.#content = new CatalogContent(this.database);
      this.#selectDataVersion = this.database.prepare('PRAGMA data_version').pluck();
      mapSqliteErrors(this.#path, () => {
        const [fault] = structureFaults(this.database);
        if (fault !== undefined)
          throw new QueueError('STORAGE_CORRUPT', {
            message: `${this.#path}: ${fault}`,
            details: { path: this.#path },
          });
        this.read(() => undefined);
      });
    } catch (error) {
      this.database.close();
      acknowledged?.close();
      throw error;
    }
  }

  /** Changes whenever another connection committed a change. */
  dataVersion(): number {
    return this.#selectDataVersion.get() as number;
  }

  /** Reads what is known to be undamaged. Throws `STORAGE_CORRUPT`. */
  read<T>(work: () => T): T {
    if (this.#verifiedVersion !== this.dataVersion() && !this.database.inTransaction)
      this.database.transaction(() => this.#verify())();
    return work();
  }

  /** Changes the catalog in one transaction, durable when this returns; part of the change around it, if there is one. */
  change<T>(work: () => T): T {
    if (this.database.inTransaction) return work();
    let changeNumber: CatalogChangeNumber | undefined;
    const change = this.database.transaction(() => {
      if (this.#verifiedVersion !== this.dataVersion()) this.#verify();
      const before = this.#content.changes();
      const result = work();
      if (this.#content.changes() !== before) changeNumber = this.#content.seal();
      return result;
    });
    const result = change.immediate();
    if (changeNumber !== undefined) this.#acknowledged.write(changeNumber);
    return result;
  }

  /** Call it in a transaction. */
  #verify(): void {
    const version = this.dataVersion();
    this.#content.verify();
    this.#verifiedVersion = version;
  }

  close(): void {
    this.database.close();
    this.#acknowledged.close();
  }
}

interface CatalogState {
  changeNumber: CatalogChangeNumber;
  checksum: number;
}

/** How far the checksum over all rows has come, of the catalog as of one change. */
export interface ChecksumStep {
  changeNumber: CatalogChangeNumber;
  /** Index in `checkedTables`. */
  table: number;
  /** Rows of that table that are in `sum`. */
  row: number;
  sum: number;
}

/** The rows of all tables, and their checksum. */
export class CatalogContent {
  readonly #file: SqliteFile;
  readonly #selectTables: readonly SqliteStatement[];
  readonly #selectState: SqliteStatement;
  readonly #writeState: SqliteStatement;
  readonly #selectChanges: SqliteStatement;

  constructor(file: SqliteFile) {
    this.#file = file;
    this.#selectTables = checkedTables.map((table) => file.prepare(`SELECT * FROM ${table}`).raw());
    this.#selectState = file.prepare('SELECT change_number AS changeNumber, checksum FROM catalog_state');
    this.#writeState = file.prepare('INSERT OR REPLACE INTO catalog_state VALUES (1, ?, ?)');
    this.#selectChanges = file.prepare('SELECT total_changes()').pluck();
  }

  /** Rows that this connection has changed since it opened. */
  changes(): number {
    return this.#selectChanges.get() as number;
  }

  /** Renews the checksum in a write transaction; returns the number of the change, which is above `least`. */
  seal(least = 0): number {
    const changeNumber = Math.max(this.#state().changeNumber, least) + 1;
    this.#writeState.run(changeNumber, this.#checksumOf(changeNumber));
    return changeNumber;
  }

  /** Number of the last change. */
  changeNumber(): CatalogChangeNumber {
    return this.#state().changeNumber;
  }

  /** Throws `STORAGE_CORRUPT` if a row has changed, or if rows were added or lost. */
  verify(): void {
    const { changeNumber } = this.#state();
    if (!this.#isUnused(changeNumber)) this.#assertChecksum(this.#checksumOf(changeNumber));
  }

  /**
   * Verifies up to `rowsMax` rows behind a step of the same change; from the first row on without one. Returns the step that
   * it got to; undefined at the end, where it throws as `verify` does.
   */
  verifyStep(from: ChecksumStep | undefined, rowsMax: number): ChecksumStep | undefined {
    const { changeNumber } = this.#state();
    const { table, row, sum } = from ?? { table: 0, row: 0, sum: checksumStart(changeNumber) };
    const name = checkedTables[table];
    if (name === undefined) {
      if (!this.#isUnused(changeNumber)) this.#assertChecksum(sum);
      return undefined;
    }
    const rows = this.#file.prepare(`SELECT * FROM ${name} LIMIT ? OFFSET ?`).raw().all(rowsMax, row);
    // The same text as that of the whole table.
    let text = row === 0 ? '[' : '';
    for (const [index, each] of rows.entries())
      text += `${row + index === 0 ? '' : ','}${JSON.stringify(each)}`;
    if (rows.length === rowsMax) return { changeNumber, table, row: row + rowsMax, sum: crc32(text, sum) };
    return { changeNumber, table: table + 1, row: 0, sum: crc32(`${text}]\n`, sum) };
  }

  #isUnused(changeNumber: CatalogChangeNumber): boolean {
    return changeNumber === 0 && this.#selectTables.every((select) => select.get() === undefined);
  }

  #assertChecksum(sum: number): void {
    if (this.#state().checksum === sum) return;
    throw new QueueError('STORAGE_CORRUPT', {
      message: `The catalog ${this.#file.name} is damaged: its rows have changed or are missing (checksum mismatch)`,
      details: { path: this.#file.name },
    });
  }

  /** Zeroes in a new catalog. */
  #state(): CatalogState {
    return (this.#selectState.get() as CatalogState | undefined) ?? { changeNumber: 0, checksum: 0 };
  }

  #checksumOf(changeNumber: CatalogChangeNumber): number {
    let sum = checksumStart(changeNumber);
    for (const select of this.#selectTables) sum = crc32(`${JSON.stringify(select.all())}\n`, sum);
    return sum;
  }
}

const checksumStart = (changeNumber: CatalogChangeNumber) => crc32(`change ${changeNumber}`);

function assertNoChangesMissing(path: string): void {
  assertNoneMissing(path, {
    read: (file) => {
      const found = file.prepare('SELECT max(change_number) FROM catalog_state').pluck().get();
      return { number: (found as number | null) ?? 0, fullyRead: true };
    },
    inWords: (change) => `change ${change}`,
  });
}

/** Runs SQLite's own check of all pages, or of those of one table, and of indexes against their tables. */
export function structureFaults(file: SqliteFile, table?: string): string[] {
  const rows = file.pragma(`integrity_check(${table ?? 10})`) as { integrity_check: string }[];
  return rows.map((row) => row.integrity_check).filter((verdict) => verdict !== 'ok');
}

/**
 * For a repair: accepts the rows of the catalog as they are, without the missing changes. Returns the faults as sentences. Throws
 * the storage errors if SQLite cannot read the catalog or the file is missing.
 */
export function acceptCatalogLoss(dir: string): string[] {
  const faults = findCatalogFaults(dir);
  const path = catalogPath(dir);
  if (faults.length === 0 || !existsSync(path)) return faults;
  const acknowledged = readAcknowledgedNumber(acknowledgedNumberPath(path)) ?? 0;
  const file = openSqlite({ path, busyMs: 1_000 });
  try {
    mapSqliteErrors(path, () => {
      prepareFormat(file, schemaSql);
      file.transaction(() => new CatalogContent(file).seal(acknowledged)).immediate();
    });
  } finally {
    file.close();
  }
  return faults;
}

/** Finds missing changes and damaged definitions. */
export function findCatalogEndAndSchemaFaults(path: string): string[] {
  return [
    ...faultsOf(path, () => {
      assertNoChangesMissing(path);
      return [];
    }),
    ...faultsInSnapshot(path, (file) => {
      assertSchemaUndamaged(file, schemaSql);
      return [];
    }),
  ];
}

/** All damage of the catalog, in sentences; changes nothing. The file may be in use. */
export function findCatalogFaults(dir: string): string[] {
  const path = catalogPath(dir);
  const faults: string[] = [];
  const collect = (work: () => void) => {
    try {
      mapSqliteErrors(path, work);
    } catch (error) {
      faults.push(toQueueError(error, path).message);
    }
  };
  collect(() => assertNoChangesMissing(path));
  if (!existsSync(path)) return faults;
  collect(() => {
    const file = openSqlite({ path, readonly: true, busyMs: 1_000 });
    try {
      if (isNewFile(file)) return;
      file.exec('BEGIN'); // one snapshot
      collect(() => assertSchemaUndamaged(file, schemaSql));
      collect(() => faults.push(...structureFaults(file).map((fault) => `${path}: ${fault}`)));
      collect(() => new CatalogContent(file).verify());
    } finally {
      file.close();
    }
  });
  return faults.map((fault) => (fault.includes(path) ? fault : `${path}: ${fault}`));
}
