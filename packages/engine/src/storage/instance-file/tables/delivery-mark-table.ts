/**
 * Delivery marks, written last before the file is closed. `closed_epoch` in `meta` names the opening that wrote them: after a
 * crash it is an older one, and the marks are not used.
 */
import type { DeliveryMark } from '../../../model/delivery-mark.ts';
import type { SqliteFile } from '../../sqlite/open-sqlite.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const marks = new CheckedTable<DeliveryMark>({
  name: 'delivery_mark',
  columns: ['queueId', 'shard', 'subscriber', 'endSeq'],
  key: ['queueId', 'shard', 'subscriber'],
});

export const deliveryMarkTable = {
  schemaSql: `
    CREATE TABLE delivery_mark (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      subscriber INTEGER NOT NULL,
      end_seq INTEGER NOT NULL,
      crc INTEGER NOT NULL,
      PRIMARY KEY (queue_id, shard, subscriber)
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [marks],
  createAppliers: (file): WriteAppliers<'close'> => ({
    close: ({ deliveryMarks }) => {
      file.exec('DELETE FROM delivery_mark');
      const write = marks.createWriter(file);
      for (const mark of deliveryMarks) write(mark);
      file.exec(
        "INSERT OR REPLACE INTO meta (key, value) SELECT 'closed_epoch', value FROM meta WHERE key = 'epoch'",
      );
    },
  }),
  deleteQueue(file, queueId) {
    file.prepare('DELETE FROM delivery_mark WHERE queue_id = ?').run(queueId);
  },
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM delivery_mark WHERE subscriber = ?').run(subscriber);
  },
  recover: (file) => ({ deliveryMarks: wasClosed(file) ? marks.read(file) : null }),
} satisfies TableModule;

/** Whether the opening before this one, which has raised the epoch already, ended by closing the file. */
function wasClosed(file: SqliteFile): boolean {
  const closed = file
    .prepare(
      `SELECT 1 FROM meta AS closed JOIN meta AS opened
       WHERE closed.key = 'closed_epoch' AND opened.key = 'epoch' AND closed.value = opened.value - 1`,
    )
    .pluck();
  return closed.get() === 1;
}
