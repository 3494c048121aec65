/**
 * Changes that ride in a group beside its messages and consumption: rare ones, so each is a plain object and a statement
 * of its own.
 */
import type { PayloadUse } from '../core/payload-uses.ts';
import { type AttemptRow, attemptStep, writeAttempts } from './attempt-table.ts';
import {
  type DelayedRow,
  delayedStep,
  deleteDelayed,
  deleteDelayedOfQueue,
  insertDelayed,
} from './delayed-table.ts';
import {
  type BorrowedRow,
  deleteForwardingOfQueue,
  type LentRow,
  writeBorrowed,
  writeLent,
} from './forwarding-table.ts';
import {
  type ChunkPlace,
  deleteChunks,
  deletePayloadUse,
  deletePayloadUsesOfQueue,
  insertPayloadUse,
} from './payload-table.ts';
import { deleteSamplesOfQueue, type Sample, sampleTables, writeSample } from './sample-table.ts';
import { sampleViews } from './sample-views.ts';
import type { SqliteFile } from './sqlite.ts';
import {
  copyStragglers,
  countStragglerAttempts,
  deleteStraggler,
  deleteStragglersOfQueue,
  type StragglerKey,
  type StragglerRow,
  stragglerStep,
} from './straggler-table.ts';
import {
  endSubscription,
  insertSubscription,
  type SubscriptionRow,
  subscriptionStep,
} from './subscription-table.ts';

/** A chunk of a payload, in shared memory, so that it is not copied on its way. */
export interface ChunkChange {
  kind: 'chunk';
  place: ChunkPlace;
  body: Uint8Array;
}

export type SideChange =
  | ChunkChange
  | { kind: 'subscribe'; subscription: SubscriptionRow }
  | { kind: 'unsubscribe'; subscriber: number }
  | { kind: 'delay'; message: DelayedRow }
  | { kind: 'due'; message: Pick<DelayedRow, 'dueAtMs' | 'no'> }
  | { kind: 'forget queue'; queueId: number }
  | { kind: 'attempts'; partition: number; rows: AttemptRow[] }
  | { kind: 'set aside'; partition: number; rows: Omit<StragglerRow, 'record'>[] }
  | { kind: 'straggler attempts'; straggler: Omit<StragglerRow, 'record'> }
  | { kind: 'straggler consumed'; straggler: StragglerKey }
  | { kind: 'lent'; row: LentRow }
  | { kind: 'borrowed'; row: BorrowedRow }
  | { kind: 'sample'; sample: Sample }
  | { kind: 'delete chunks'; payload: number; from: number; to: number }
  | { kind: 'payload used'; use: PayloadUse }
  | { kind: 'payload released'; use: PayloadUse };

/** Format 2 of an instance's file. */
export const sideTables = [subscriptionStep, delayedStep, attemptStep, stragglerStep].join('\n');

/** Format 3. */
export const monitoringStep = `${sampleTables} ${sampleViews}`;

/** Applies one change in the transaction of its group. */
export function applySideChange(file: SqliteFile, change: Exclude<SideChange, ChunkChange>): void {
  switch (change.kind) {
    case 'subscribe':
      insertSubscription(file, change.subscription);
      break;
    case 'unsubscribe':
      endSubscription(file, change.subscriber);
      break;
    case 'delay':
      insertDelayed(file, change.message);
      break;
    case 'due':
      deleteDelayed(file, change.message);
      break;
    case 'forget queue':
      deleteDelayedOfQueue(file, change.queueId);
      deleteStragglersOfQueue(file, change.queueId);
      deleteForwardingOfQueue(file, change.queueId);
      deleteSamplesOfQueue(file, change.queueId);
      deletePayloadUsesOfQueue(file, change.queueId);
      break;
    case 'attempts':
      writeAttempts(file, change.partition, change.rows);
      break;
    case 'set aside':
      copyStragglers(file, change.partition, change.rows);
      break;
    case 'straggler attempts':
      countStragglerAttempts(file, change.straggler);
      break;
    case 'straggler consumed':
      deleteStraggler(file, change.straggler);
      break;
    case 'lent':
      writeLent(file, change.row);
      break;
    case 'borrowed':
      writeBorrowed(file, change.row);
      break;
    case 'sample':
      writeSample(file, change.sample);
      break;
    case 'delete chunks':
      deleteChunks(file, change.payload, change.from, change.to);
      break;
    case 'payload used':
      insertPayloadUse(file, change.use);
      break;
    case 'payload released':
      deletePayloadUse(file, change.use);
      break;
  }
}
