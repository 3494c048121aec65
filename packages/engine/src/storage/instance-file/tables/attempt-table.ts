/**
 * Deliveries of messages that were not consumed. A row is written when a message is returned, or at every delivery if the
 * queue has `attemptsMax`. The rows are deleted with their partition.
 */

import type { AttemptRow } from '../../../model/delivery-attempt.ts';
import type { PartitionId } from '../../../model/ids.ts';
import { selectList } from '../../sqlite/columns.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

export const attemptTable = {
  schemaSql: `
    CREATE TABLE attempt (
      partition INTEGER NOT NULL,
      subscriber INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      PRIMARY KEY (partition, subscriber, seq)
    ) STRICT, WITHOUT ROWID;`,
  tablesByPartition: ['attempt'],
  createAppliers: (file): WriteAppliers<'attempts'> => ({
    attempts: ({ partition, rows }) => writeAttempts(file, partition, rows),
  }),
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM attempt WHERE subscriber = ?').run(subscriber);
  },
} satisfies TableModule;

function writeAttempts(file: SqliteFile, partition: PartitionId, rows: readonly AttemptRow[]): void {
  const upsert = file.prepare('INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?)');
  for (const { subscriber, seq, attempts } of rows) upsert.run(partition, subscriber, seq, attempts);
}

export function readAttempts(file: SqliteFile, partition: PartitionId): AttemptRow[] {
  return file
    .prepare(`SELECT ${selectList(['subscriber', 'seq', 'attempts'])} FROM attempt WHERE partition = ?`)
    .all(partition) as AttemptRow[];
}

/** A repair copied the partition to a new one. */
export function moveAttempts(file: SqliteFile, from: number, to: number): void {
  file.prepare('UPDATE attempt SET partition = ? WHERE partition = ?').run(to, from);
}
