/**
 * A table beside the messages registers itself with one `TableModule` in `registered-tables.ts`: its schema, the writes
 * that it applies, what it deletes with a queue, a subscriber or a partition, what it recovers, and how it is checked.
 */
import type { QueueId, SubscriberId } from '../../../model/ids.ts';
import type { RecoveredInstance } from '../../../model/recovered-instance.ts';
import type { TableWrite } from '../../../model/table-write.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import type { CheckedTable } from './checked-table.ts';

/** Writes that concern several tables: each deletes its own rows. */
export type SharedWriteKind = 'unsubscribe' | 'delete queue';
export type OwnWriteKind = Exclude<TableWrite['kind'], SharedWriteKind>;
export type WriteOf<Kind extends TableWrite['kind']> = Extract<TableWrite, { kind: Kind }>;

/** Applies writes inside the transaction of their group. */
export type WriteAppliers<Kind extends OwnWriteKind = OwnWriteKind> = {
  [K in Kind]: (write: WriteOf<K>) => void;
};

export interface TableModule {
  readonly schemaSql: string;
  /** Its tables whose rows are counted and have checksums: recovery, the check and a repair follow from them. */
  // biome-ignore lint/suspicious/noExplicitAny: each table has rows of its own type, which only its module reads.
  readonly checkedTables?: readonly CheckedTable<any>[];
  /**
   * Its tables that any group may write to, so that a count of their rows would cost each group a page more: SQLite's check of
   * their pages stands in for it.
   */
  readonly uncountedTables?: readonly string[];
  /** Called once for each opened file, so that appliers can keep prepared statements. */
  createAppliers?(file: SqliteFile): Partial<WriteAppliers>;
  /** Bytes of the writes that can be large, so that they count towards the next checkpoint. */
  readonly bodyBytes?: { [Kind in OwnWriteKind]?: (write: WriteOf<Kind>) => number };
  deleteQueue?(file: SqliteFile, queueId: QueueId): void;
  deleteSubscriber?(file: SqliteFile, subscriber: SubscriberId): void;
  /** Tables with a column `partition`: their rows of a partition are deleted when it is truncated. */
  readonly tablesByPartition?: readonly string[];
  recover?(file: SqliteFile): Partial<RecoveredInstance>;
  /** Damage found in the table, in sentences. Reads all of it and changes nothing. */
  findFaults?(file: SqliteFile): string[];
}
