/**
 * The tables of an instance's file beside the messages. A new one is a `TableModule` in a file of its own and a line here;
 * schema, writes, deletions, recovery and the check follow from the list (`table-registry.ts`). Elsewhere it is only described:
 * its kinds of write in `model/table-write.ts`, what it recovers in `model/recovered-instance.ts`. Those who write it and need
 * it again may not import storage.
 */
import { attemptTable } from './attempt-table.ts';
import { delayedTable } from './delayed-table.ts';
import { deliveryMarkTable } from './delivery-mark-table.ts';
import { evacuatedTable } from './evacuated-table.ts';
import { forwardingTables } from './forwarding-table.ts';
import { idempotencyKeyTable } from './idempotency-key-table.ts';
import { metaTable } from './last-group.ts';
import { consumptionTable, partitionPoolTable } from './partition-table.ts';
import { payloadTables } from './payload-table.ts';
import { redoTables } from './redo-tables.ts';
import { sampleTables } from './sample-table.ts';
import { sampleViews } from './sample-views.ts';
import { serviceTables } from './service-tables.ts';
import { sessionOutcomeTable } from './session-outcome-table.ts';
import { subscriptionTable } from './subscription-table.ts';
import { TableRegistry } from './table-registry.ts';
import { xaTables } from './xa-tables.ts';

/** The tables in the order of creation: views come after the tables that they read. */
const registeredTables = [
  metaTable,
  redoTables,
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

export const instanceTables = new TableRegistry<(typeof registeredTables)[number]>(registeredTables);
