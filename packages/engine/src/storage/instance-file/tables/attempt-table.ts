/**
 * Deliveries of messages that were not consumed. A row is written when a message is returned, or at every delivery if the
 * queue counts deliveries (`attemptsCounted`). The rows are deleted with their partition.
 */

import type { AttemptRow } from '../../../model/delivery-attempt.ts';
import type { PartitionId } from '../../../model/ids.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const attempts = new CheckedTable<AttemptRow & { partition: PartitionId }>({
  name: 'attempt',
  columns: ['partition', 'subscriber', 'seq', 'attempts'],
  key: ['partition', 'subscriber', 'seq'],
});

export const attemptTable = {
  schemaSql: `
    CREATE TABLE attempt (
      partition INTEGER NOT NULL,
      subscriber INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      crc INTEGER NOT NULL,
      PRIMARY KEY (partition, subscriber, seq)
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [attempts],
  tablesByPartition: ['attempt'],
  createAppliers: (file): WriteAppliers<'attempts'> => {
    const write = attempts.createWriter(file);
    return {
      attempts: ({ partition, rows }) => {
        for (const row of rows) write({ ...row, partition });
      },
    };
  },
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM attempt WHERE subscriber = ?').run(subscriber);
  },
} satisfies TableModule;

/** Throws `STORAGE_CORRUPT` if a row is damaged. */
export function readAttempts(file: SqliteFile, partition: PartitionId): AttemptRow[] {
  return attempts.read(file, 'WHERE partition = ?', partition).map(({ partition: _, ...row }) => row);
}

/** A repair copied the partition to a new one. Damaged rows are left behind. */
export function moveAttempts(file: SqliteFile, from: PartitionId, to: PartitionId): void {
  const moved = attempts.readUndamaged(file).filter(({ partition }) => partition === from);
  file.prepare('DELETE FROM attempt WHERE partition = ?').run(from);
  const write = attempts.createWriter(file);
  for (const row of moved) write({ ...row, partition: to });
}
