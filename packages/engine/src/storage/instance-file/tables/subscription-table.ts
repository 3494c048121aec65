/** The first sequence number of each log of this instance that a durable subscriber gets. */
import type { SubscriptionRow } from '../../../model/subscriber-row.ts';
import { CheckedTable } from './checked-table.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const subscriptions = new CheckedTable<SubscriptionRow>({
  name: 'subscription',
  columns: ['queueId', 'shard', 'subscriber', 'firstSeq'],
  key: ['queueId', 'shard', 'subscriber'],
});

/** The durable subscribers of a partition's log. */
export const subscriptionsOfPartitionSql = `
  SELECT subscriber, subscription.first_seq AS firstSeq
  FROM partition JOIN subscription USING (queue_id, shard) WHERE partition = ?`;

export const subscriptionTable = {
  schemaSql: `
    CREATE TABLE subscription (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      subscriber INTEGER NOT NULL,
      first_seq INTEGER NOT NULL,
      crc INTEGER NOT NULL,
      PRIMARY KEY (queue_id, shard, subscriber)
    ) STRICT, WITHOUT ROWID;`,
  checkedTables: [subscriptions],
  createAppliers: (file): WriteAppliers<'subscribe'> => ({
    subscribe: ({ subscription }) => subscriptions.createWriter(file)(subscription),
  }),
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM subscription WHERE subscriber = ?').run(subscriber);
  },
  recover: (file) => ({
    subscriptions: subscriptions.read(file),
  }),
} satisfies TableModule;
