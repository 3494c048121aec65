/**
 * Changes that ride in a group beside its messages and consumption: rare ones, so each is a plain object and a statement
 * of its own.
 */
import type { SqliteFile } from './sqlite.ts';

/** From which number on a durable subscriber gets the messages of a shard. */
export interface SubscriptionRow {
  queueId: number;
  shard: number;
  subscriber: number;
  firstSeq: number;
}

export type SideChange =
  | ({ kind: 'subscribe' } & SubscriptionRow)
  | { kind: 'unsubscribe'; subscriber: number };

/** Format 2 of an instance's file. */
export const sideTables = `
  CREATE TABLE subscription (
    queue_id INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    subscriber INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    PRIMARY KEY (queue_id, shard, subscriber)
  ) STRICT, WITHOUT ROWID;
`;

/** Applies one change in the transaction of its group. */
export function applySideChange(file: SqliteFile, change: SideChange): void {
  switch (change.kind) {
    case 'subscribe':
      file
        .prepare('INSERT OR REPLACE INTO subscription VALUES (?, ?, ?, ?)')
        .run(change.queueId, change.shard, change.subscriber, change.firstSeq);
      return;
    case 'unsubscribe':
      file.prepare('DELETE FROM subscription WHERE subscriber = ?').run(change.subscriber);
      file.prepare('DELETE FROM consumption WHERE subscriber = ?').run(change.subscriber);
      return;
  }
}

export function readSubscriptions(file: SqliteFile): SubscriptionRow[] {
  return file
    .prepare('SELECT queue_id AS queueId, shard, subscriber, first_seq AS firstSeq FROM subscription')
    .all() as SubscriptionRow[];
}
