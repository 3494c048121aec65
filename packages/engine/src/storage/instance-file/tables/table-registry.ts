/** All that is done with every table beside the messages. It follows from their modules, so none is named here. */
import { QueueError } from '../../../api/errors.ts';
import type { TableWrite } from '../../../model/table-write.ts';
import { type SqliteFile, type SqliteStatement, toQueueError } from '../../sqlite/open-sqlite.ts';
import type { CheckedTable } from './checked-table.ts';
import type { OwnWriteKind, SharedWriteKind, TableModule, WriteAppliers, WriteOf } from './table-module.ts';

/** Finds damage of one kind, in sentences. */
export type TableCheck = (file: SqliteFile) => string[];

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (
  part: infer Part,
) => void
  ? Part
  : never;
/** What a hook of all tables together returns. */
type Returned<Table, Hook extends 'createAppliers' | 'recover'> = Intersection<
  Table extends Record<Hook, (file: SqliteFile) => infer Result> ? Result : never
>;
type AppliedKind<Table> = (keyof Returned<Table, 'createAppliers'> & OwnWriteKind) | SharedWriteKind;

/** `Table`: the types of the modules, from which the compiler knows what they write and recover together. */
export class TableRegistry<Table extends TableModule> {
  readonly #tables: readonly TableModule[];
  // biome-ignore lint/suspicious/noExplicitAny: each table has rows of its own type, which only its module reads.
  readonly #checkedTables: readonly CheckedTable<any>[];
  readonly #uncountedTables: readonly string[];
  readonly #bodyBytes: { [Kind in OwnWriteKind]?: (write: TableWrite) => number };
  /** Creates the tables in a new file. */
  readonly schemaSql: string;
  /** Together they find all damage in the tables; each takes a part of the time. */
  readonly checks: readonly TableCheck[];

  /** The tables are created in this order. */
  constructor(tables: readonly Table[]) {
    const all: readonly TableModule[] = tables;
    const checkedTables = all.flatMap((table) => table.checkedTables ?? []);
    this.#tables = all;
    this.#checkedTables = checkedTables;
    this.#uncountedTables = all.flatMap((table) => table.uncountedTables ?? []);
    this.#bodyBytes = Object.assign({}, ...all.map((table) => table.bodyBytes));
    this.schemaSql = [
      ...all.map(({ schemaSql }) => schemaSql),
      ...checkedTables.map(({ countingSql }) => countingSql),
    ].join('\n');
    this.checks = [
      (file) => this.#findStructureFaults(file),
      ...checkedTables.map((table) => (file: SqliteFile) => table.findFaults(file)),
      ...all.flatMap(({ findFaults }) => findFaults ?? []),
    ];
  }

  /** Applies a write inside the transaction of its group. */
  createWriteApplier(file: SqliteFile): (write: WriteOf<AppliedKind<Table>>) => void {
    const appliers: Partial<WriteAppliers> = Object.assign(
      {},
      ...this.#tables.map((table) => table.createAppliers?.(file)),
    );
    return (write: TableWrite) => {
      if (write.kind === 'delete queue') {
        for (const table of this.#tables) table.deleteQueue?.(file, write.queueId);
      } else if (write.kind === 'unsubscribe') {
        for (const table of this.#tables) table.deleteSubscriber?.(file, write.subscriber);
      } else (appliers[write.kind] as (write: TableWrite) => void)(write);
    };
  }

  /** Bytes that a write adds to the log, as far as they count beside those of the messages. */
  bodyBytesOf(write: TableWrite): number {
    return this.#bodyBytes[write.kind as OwnWriteKind]?.(write) ?? 0;
  }

  /** Statements that delete the rows of a truncated partition, whose number is their parameter. */
  preparePartitionDeletes(file: SqliteFile): SqliteStatement[] {
    return this.#tables
      .flatMap(({ tablesByPartition = [] }) => tablesByPartition)
      .map((table) => file.prepare(`DELETE FROM ${table} WHERE partition = ?`));
  }

  /**
   * All that recovery needs from the tables; the partitions themselves are read by `recover-partitions.ts`. Throws
   * `STORAGE_CORRUPT` if rows are missing or damaged.
   */
  recover(file: SqliteFile): Returned<Table, 'recover'> {
    for (const table of this.#checkedTables) table.assertComplete(file);
    for (const table of this.#uncountedTables) assertTableReadable(file, table);
    return Object.assign({}, ...this.#tables.map((table) => table.recover?.(file)));
  }

  /** Damage in the tables, in sentences. */
  findFaults(file: SqliteFile): string[] {
    return this.checks.flatMap((check) => check(file));
  }

  /** SQLite's own check of the tables that no count protects. */
  #findStructureFaults(file: SqliteFile): string[] {
    return this.#uncountedTables.flatMap((table) => {
      try {
        assertTableReadable(file, table);
        return [];
      } catch (error) {
        return [toQueueError(error, file.name).message];
      }
    });
  }

  /** For a repair: gives up damaged rows, and rows that are missing. Returns what is lost, in sentences. */
  acceptLoss(file: SqliteFile): string[] {
    return this.#checkedTables.flatMap((table) => table.acceptLoss(file));
  }
}

/** SQLite's own check of all pages: a changed number of cells would hide rows. Throws `STORAGE_CORRUPT`. */
function assertTableReadable(file: SqliteFile, table: string): void {
  const verdict = file.pragma(`quick_check(${table})`, { simple: true });
  if (verdict === 'ok') return;
  throw new QueueError('STORAGE_CORRUPT', {
    message: `The table ${table} of ${file.name} is damaged: ${verdict}`,
    details: { path: file.name, table },
  });
}
