/** The subscribers of the cluster's topics: part of the catalog. */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { InstanceId, QueueId, SubscriberId } from '../../model/ids.ts';
import type { ProcessIdentity, ProcessTable } from '../../model/ports.ts';
import type { SubscriberRow } from '../../model/subscriber-row.ts';
import { mapSqliteErrors, type SqliteFile } from '../sqlite/open-sqlite.ts';
import type { CatalogFile } from './catalog-file.ts';

export class SubscriberTable {
  readonly #catalogFile: CatalogFile;
  readonly #file: SqliteFile;
  readonly #processes: ProcessTable;

  constructor(catalog: CatalogFile, processes: ProcessTable) {
    this.#catalogFile = catalog;
    this.#file = catalog.database;
    this.#processes = processes;
  }

  /** The subscribers of a topic. */
  ofTopic(queueId: QueueId): SubscriberRow[] {
    const rows = this.#read(() =>
      this.#file
        .prepare(
          'SELECT subscriber AS id, name, bound_instance IS NULL AS durable FROM subscriber WHERE queue_id = ?',
        )
        .all(queueId),
    ) as (Omit<SubscriberRow, 'durable'> & { durable: number })[];
    return rows.map((row) => ({ ...row, durable: row.durable === 1 }));
  }

  /**
   * Returns the subscriber of this name and creates it if needed; null as `boundInstance` makes it durable. Throws
   * `SUBSCRIBER_EXISTS`, `SUBSCRIBERS_FULL`.
   */
  add(queueId: QueueId, name: string, boundInstance: InstanceId | null): SubscriberRow {
    return this.#runTransaction(() => {
      const known = this.ofTopic(queueId);
      const durable = boundInstance === null;
      const existing = known.find((subscriber) => subscriber.name === name);
      if (existing !== undefined) {
        if (existing.durable === durable) return existing;
        throw new QueueError('SUBSCRIBER_EXISTS', {
          details: { subscriber: name, durable: existing.durable },
        });
      }
      if (known.length >= limits.subscribersMax) throw new QueueError('SUBSCRIBERS_FULL');
      const { lastInsertRowid } = this.#file
        .prepare('INSERT INTO subscriber (queue_id, name, bound_instance) VALUES (?, ?, ?)')
        .run(queueId, name, boundInstance);
      return { id: Number(lastInsertRowid), name, durable };
    });
  }

  /** Returns whether it existed. */
  remove(queueId: QueueId, name: string): boolean {
    return this.#runTransaction(() => this.#remove('queue_id = ? AND name = ?', queueId, name) > 0);
  }

  removeOfQueue(queueId: QueueId): void {
    this.#runTransaction(() => this.#remove('queue_id = ?', queueId));
  }

  /** Nondurable subscribers end with the instance that created them. */
  removeOfInstance(instance: InstanceId): void {
    this.#runTransaction(() => this.#remove('bound_instance = ?', instance));
  }

  #remove(where: string, ...values: (number | string)[]): number {
    this.#file
      .prepare(
        `DELETE FROM subscriber_applied WHERE subscriber IN (SELECT subscriber FROM subscriber WHERE ${where})`,
      )
      .run(...values);
    return this.#file.prepare(`DELETE FROM subscriber WHERE ${where}`).run(...values).changes;
  }

  /** Records that the instance keeps messages for these subscribers. */
  markApplied(instance: InstanceId, subscribers: readonly SubscriberRow[]): void {
    const insert = this.#file.prepare('INSERT OR IGNORE INTO subscriber_applied VALUES (?, ?)');
    this.#runTransaction(() => {
      for (const { id } of subscribers) insert.run(id, instance);
    });
  }

  /** Instances that are hosted by a live process and do not keep messages for the subscriber yet. */
  instancesNotApplied(subscriber: SubscriberId): number[] {
    const hosts = this.#read(() =>
      this.#file
        .prepare(
          `SELECT instance, pid, pid_started AS started FROM host
           WHERE instance NOT IN (SELECT instance FROM subscriber_applied WHERE subscriber = ?)`,
        )
        .all(subscriber),
    ) as (ProcessIdentity & { instance: InstanceId })[];
    return hosts.filter((host) => this.#processes.isAlive(host)).map(({ instance }) => instance);
  }

  #runTransaction<T>(work: () => T): T {
    return mapSqliteErrors(this.#file.name, () => this.#catalogFile.change(work));
  }

  #read<T>(work: () => T): T {
    return mapSqliteErrors(this.#file.name, () => this.#catalogFile.read(work));
  }
}
