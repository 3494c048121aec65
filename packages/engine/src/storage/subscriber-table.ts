/** Who subscribes to the topics of the cluster: part of the catalog. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { isAlive, type ProcessId } from './process-identity.ts';
import { mapSqliteErrors, type SqliteFile } from './sqlite.ts';

export const subscriberTables = `
  CREATE TABLE subscriber (
    subscriber INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused
    queue_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    lives_with INTEGER,                           -- the instance that a nondurable one ends with; NULL: durable
    UNIQUE (queue_id, name)
  ) STRICT;
  CREATE TABLE subscriber_applied (               -- the instances that keep messages for it
    subscriber INTEGER NOT NULL,
    instance INTEGER NOT NULL,
    PRIMARY KEY (subscriber, instance)
  ) STRICT, WITHOUT ROWID;
`;

export interface SubscriberRow {
  id: number;
  name: string;
  durable: boolean;
}

export class SubscriberTable {
  readonly #file: SqliteFile;

  constructor(catalog: SqliteFile) {
    this.#file = catalog;
  }

  /** Those of a topic. */
  of(queueId: number): SubscriberRow[] {
    const rows = this.#run(() =>
      this.#file
        .prepare(
          'SELECT subscriber AS id, name, lives_with IS NULL AS durable FROM subscriber WHERE queue_id = ?',
        )
        .all(queueId),
    ) as (Omit<SubscriberRow, 'durable'> & { durable: number })[];
    return rows.map((row) => ({ ...row, durable: row.durable === 1 }));
  }

  /**
   * Returns the subscriber, made if there was none of this name; `livesWith` is the instance of a nondurable one. Throws
   * `SUBSCRIBER_EXISTS`, `SUBSCRIBERS_FULL`.
   */
  add(queueId: number, name: string, livesWith: number | null): SubscriberRow {
    return this.#write(() => {
      const known = this.of(queueId);
      const durable = livesWith === null;
      const same = known.find((subscriber) => subscriber.name === name);
      if (same !== undefined) {
        if (same.durable === durable) return same;
        throw new QueueError('SUBSCRIBER_EXISTS', { details: { subscriber: name, durable: same.durable } });
      }
      if (known.length >= limits.subscribersMax) throw new QueueError('SUBSCRIBERS_FULL');
      const { lastInsertRowid } = this.#file
        .prepare('INSERT INTO subscriber (queue_id, name, lives_with) VALUES (?, ?, ?)')
        .run(queueId, name, livesWith);
      return { id: Number(lastInsertRowid), name, durable };
    });
  }

  /** Returns whether there was one. */
  remove(queueId: number, name: string): boolean {
    return this.#write(() => this.#remove('queue_id = ? AND name = ?', queueId, name) > 0);
  }

  removeOfQueue(queueId: number): void {
    this.#write(() => this.#remove('queue_id = ?', queueId));
  }

  /** Nondurable ones end with the instance that made them. */
  removeOfInstance(instance: number): void {
    this.#write(() => this.#remove('lives_with = ?', instance));
  }

  #remove(where: string, ...values: (number | string)[]): number {
    this.#file
      .prepare(
        `DELETE FROM subscriber_applied WHERE subscriber IN (SELECT subscriber FROM subscriber WHERE ${where})`,
      )
      .run(...values);
    return this.#file.prepare(`DELETE FROM subscriber WHERE ${where}`).run(...values).changes;
  }

  /** The instance keeps messages for these. */
  applied(instance: number, subscribers: readonly SubscriberRow[]): void {
    const insert = this.#file.prepare('INSERT OR IGNORE INTO subscriber_applied VALUES (?, ?)');
    this.#write(() => {
      for (const { id } of subscribers) insert.run(id, instance);
    });
  }

  /** Instances that a live process hosts and that do not keep messages for it yet. */
  awaited(subscriber: number): number[] {
    const hosts = this.#run(() =>
      this.#file
        .prepare(
          `SELECT instance, pid, pid_started AS started FROM host
           WHERE instance NOT IN (SELECT instance FROM subscriber_applied WHERE subscriber = ?)`,
        )
        .all(subscriber),
    ) as (ProcessId & { instance: number })[];
    return hosts.filter(isAlive).map(({ instance }) => instance);
  }

  #write<T>(work: () => T): T {
    return this.#run(() => this.#file.transaction(work).immediate());
  }

  #run<T>(work: () => T): T {
    return mapSqliteErrors(this.#file.name, work);
  }
}
