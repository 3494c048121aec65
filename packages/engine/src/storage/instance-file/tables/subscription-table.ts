/** From which sequence number on each durable subscriber gets the messages of a log of this instance. */
import type { SubscriptionRow } from '../../../model/subscriber-row.ts';
import { insertSql, selectList } from '../../sqlite/columns.ts';
import type { TableModule, WriteAppliers } from './table-module.ts';

const columns = ['queueId', 'shard', 'subscriber', 'firstSeq'] as const;

export const subscriptionTable = {
  schemaSql: `
    CREATE TABLE subscription (
      queue_id INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      subscriber INTEGER NOT NULL,
      first_seq INTEGER NOT NULL,
      PRIMARY KEY (queue_id, shard, subscriber)
    ) STRICT, WITHOUT ROWID;`,
  createAppliers: (file): WriteAppliers<'subscribe'> => ({
    subscribe: ({ subscription }) => {
      file.prepare(insertSql('subscription', columns, 'INSERT OR REPLACE')).run(subscription);
    },
  }),
  deleteSubscriber(file, subscriber) {
    file.prepare('DELETE FROM subscription WHERE subscriber = ?').run(subscriber);
  },
  recover: (file) => ({
    subscriptions: file.prepare(`SELECT ${selectList(columns)} FROM subscription`).all() as SubscriptionRow[],
  }),
} satisfies TableModule;
