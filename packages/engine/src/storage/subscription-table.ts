/** From which number on each durable subscriber gets the messages of a shard of this instance. */
import type { SqliteFile } from './sqlite.ts';

export const subscriptionStep = `
  CREATE TABLE subscription (
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    subscriber INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    PRIMARY KEY (queue_id, shard, subscriber)
  ) STRICT, WITHOUT ROWID;
`;

export interface SubscriptionRow {
  queueId: number;
  shard: number;
  subscriber: number;
  firstSeq: number;
}

export function insertSubscription(file: SqliteFile, row: SubscriptionRow): void {
  file
    .prepare('INSERT OR REPLACE INTO subscription VALUES (?, ?, ?, ?)')
    .run(row.queueId, row.shard, row.subscriber, row.firstSeq);
}

/** And with it what it consumed, in every partition. */
export function endSubscription(file: SqliteFile, subscriber: number): void {
  for (const table of ['subscription', 'consumption', 'attempt', 'straggler', 'sample_subscriber']) {
    file.prepare(`DELETE FROM ${table} WHERE subscriber = ?`).run(subscriber);
  }
}

export function readSubscriptions(file: SqliteFile): SubscriptionRow[] {
  return file
    .prepare('SELECT queue_id AS queueId, shard, subscriber, first_seq AS firstSeq FROM subscription')
    .all() as SubscriptionRow[];
}
