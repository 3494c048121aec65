/**
 * The tables of an instance's file beside the messages. A new one is a `TableModule` in a file of its own and a line here;
 * schema, writes, deletions, recovery and the check follow from the list.
 */
import { QueueError } from '../../../api/errors.ts';
import type { RecoveredInstance } from '../../../model/recovered-instance.ts';
import type { TableWrite } from '../../../model/table-write.ts';
import { type SqliteFile, type SqliteStatement, toQueueError } from '../../sqlite/open-sqlite.ts';
import { attemptTable } from './attempt-table.ts';
import { delayedTable } from './delayed-table.ts';
import { deliveryMarkTable } from './delivery-mark-table.ts';
import { evacuatedTable } from './evacuated-table.ts';
import { forwardingTables } from './forwarding-table.ts';
import { idempotencyKeyTable } from './idempotency-key-table.ts';
import { metaTable } from './last-group.ts';
import { consumptionTable, partitionPoolTable } from './partition-table.ts';
import { payloadTables } from './payload-table.ts';
import { sampleTables } from './sample-table.ts';
import { sampleViews } from './sample-views.ts';
import { serviceTables } from './service-tables.ts';
import { sessionOutcomeTable } from './session-outcome-table.ts';
import { subscriptionTable } from './subscription-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';
import { xaTables } from './xa-tables.ts';

/** In the order of creation: the views read the tables before them. */
const registeredTables = [
  metaTable,
  partitionPoolTable,
  consumptionTable,
  sessionOutcomeTable,
  idempotencyKeyTable,
  subscriptionTable,
  delayedTable,
  attemptTable,
  deliveryMarkTable,
  evacuatedTable,
  forwardingTables,
  payloadTables,
  xaTables,
  serviceTables,
  sampleTables,
  sampleViews,
] as const;

const modules: readonly TableModule[] = registeredTables;

const checkedTables = modules.flatMap((table) => table.checkedTables ?? []);

export const instanceSchemaSql = [
  ...modules.map(({ schemaSql }) => schemaSql),
  ...checkedTables.map(({ countingSql }) => countingSql),
].join('\n');

type Registered = (typeof registeredTables)[number];
type Returned<Hook extends 'createAppliers' | 'recover'> = Registered extends infer Table
  ? Table extends Record<Hook, (file: SqliteFile) => infer Result>
    ? Result
    : never
  : never;
type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (
  part: infer Part,
) => void
  ? Part
  : never;

/** A kind of write that no table applies is an error of types in this function. */
export function createWriteAppliers(file: SqliteFile): (write: TableWrite) => void {
  const parts = modules.map((table) => table.createAppliers?.(file) ?? {});
  const appliers: WriteAppliers = Object.assign({}, ...parts) as Intersection<Returned<'createAppliers'>>;
  return (write) => {
    if (write.kind === 'delete queue') {
      for (const table of modules) table.deleteQueue?.(file, write.queueId);
    } else if (write.kind === 'unsubscribe') {
      for (const table of modules) table.deleteSubscriber?.(file, write.subscriber);
    } else (appliers[write.kind] as (write: TableWrite) => void)(write);
  };
}

/** Statements that delete the rows of a truncated partition, whose number is their parameter. */
export function preparePartitionDeletes(file: SqliteFile): SqliteStatement[] {
  return modules
    .flatMap(({ tablesByPartition = [] }) => tablesByPartition)
    .map((table) => file.prepare(`DELETE FROM ${table} WHERE partition = ?`));
}

/**
 * All that recovery needs from the tables; the partitions themselves are read by `recover-partitions.ts`. Throws
 * `STORAGE_CORRUPT` if rows are missing or are not what was written.
 */
export function recoverTables(file: SqliteFile): Omit<RecoveredInstance, RecoveredElsewhere> {
  for (const table of checkedTables) table.assertComplete(file);
  for (const table of uncountedTables) assertTableReadable(file, table);
  const parts = modules.map((table) => table.recover?.(file) ?? {});
  return Object.assign({}, ...parts) as Intersection<Returned<'recover'>>;
}

/** Each group may write to these, so a count of their rows would cost it a page more. */
const uncountedTables = ['meta', 'consumption', 'session_outcome'];

/** SQLite's own check of all pages: a changed number of cells would hide rows. Throws `STORAGE_CORRUPT`. */
function assertTableReadable(file: SqliteFile, table: string): void {
  const verdict = file.pragma(`quick_check(${table})`, { simple: true });
  if (verdict === 'ok') return;
  throw new QueueError('STORAGE_CORRUPT', {
    message: `The table ${table} of ${file.name} is damaged: ${verdict}`,
    details: { path: file.name, table },
  });
}

type RecoveredElsewhere = 'epoch' | 'freePartitions' | 'unusablePartitions' | 'partitions';

/** Finds damage of one kind, in sentences. */
export type TableCheck = (file: SqliteFile) => string[];

/** Together they find all damage in the tables; each takes a part of the time. */
export const tableChecks: readonly TableCheck[] = [
  findStructureFaults,
  ...checkedTables.map((table) => (file: SqliteFile) => table.findFaults(file)),
  ...modules.flatMap(({ findFaults }) => findFaults ?? []),
];

/** Damage in the tables, in sentences. */
export function findTableFaults(file: SqliteFile): string[] {
  return tableChecks.flatMap((check) => check(file));
}

/** SQLite's own check of the tables that no count protects. */
function findStructureFaults(file: SqliteFile): string[] {
  return uncountedTables.flatMap((table) => {
    try {
      assertTableReadable(file, table);
      return [];
    } catch (error) {
      return [toQueueError(error, file.name).message];
    }
  });
}

/** For a repair: gives up damaged rows, and rows that are missing. Returns what is lost, in sentences. */
export function acceptTableLoss(file: SqliteFile): string[] {
  const lost: string[] = [];
  for (const table of checkedTables) {
    const rows = table.acceptLoss(file);
    if (rows > 0) lost.push(`${rows} rows of the table ${table.name}`);
  }
  return lost;
}
