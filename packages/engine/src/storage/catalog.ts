/**
 * The catalog: which queues exist in the cluster. One small file that every process of the cluster opens; its changes are
 * rare, so they are made synchronously and in full durability. Who hosts what is in the same file: `membership.ts`.
 */
import type { ConversionCommand } from '../core/conversion.ts';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { Durability, QueueKind, QueueType } from '../types.ts';
import { claimApplicationHome, readApplicationHome } from './application-home.ts';
import { catalogPath, openCatalogFile } from './catalog-file.ts';
import { Checkpoints } from './checkpoint.ts';
import { type ConversionRow, ConversionTable, type NewConversion } from './conversion-table.ts';
import { FileHealth } from './file-health.ts';
import { isAlive, type ProcessId } from './process-identity.ts';
import type { SqliteFile } from './sqlite.ts';
import { SubscriberTable } from './subscriber-table.ts';

export interface QueueRow {
  queueId: number;
  name: string;
  kind: QueueKind;
  type: QueueType;
  shards: number;
  durability: Durability;
  priorities: boolean;
  /** Null: no limit. */
  attemptsMax: number | null;
  retryDelayMs: number;
  /** Messages move to other instances where consumers wait for them and none is here. */
  forwarding: boolean;
  /** Of each instance's message cache: what is kept for it, and what it may fill; null: what is free. */
  cacheBytesMin: number;
  cacheBytesMax: number | null;
  /** Its partitions have local indexes on correlation ids. */
  correlationIndex: boolean;
  /** Gets what was handed out too often; null without a limit. */
  exceptionQueueId: number | null;
  enqueueEnabled: boolean;
  dequeueEnabled: boolean;
}

/** What a new queue is made of. */
export type NewQueueRow = Omit<
  QueueRow,
  'queueId' | 'exceptionQueueId' | 'enqueueEnabled' | 'dequeueEnabled'
>;

/** What a step of a conversion may change in the catalog. */
export interface ConversionChange {
  enable(which: { enqueue?: boolean; dequeue?: boolean }): void;
  /** The sharded queue takes the place of the unsharded one, stopped. Throws `QUEUE_EXISTS` for its exception queue. */
  replaceQueue(): void;
  sizeCache(bytesMax: number): void;
}

export function exceptionQueueName(queue: string): string {
  return `${queue}.exceptions`;
}

/** SQLite has no booleans. */
interface StoredQueue
  extends Omit<
    QueueRow,
    'priorities' | 'forwarding' | 'correlationIndex' | 'enqueueEnabled' | 'dequeueEnabled'
  > {
  priorities: number;
  forwarding: number;
  correlationIndex: number;
  enqueueEnabled: number;
  dequeueEnabled: number;
}

const columns = `queue_id AS queueId, name, kind, type, shards, durability, priorities,
  attempts_max AS attemptsMax, retry_delay_ms AS retryDelayMs, forwarding, exception_queue_id AS exceptionQueueId,
  cache_bytes_min AS cacheBytesMin, cache_bytes_max AS cacheBytesMax,
  correlation_index AS correlationIndex, enqueue_enabled AS enqueueEnabled, dequeue_enabled AS dequeueEnabled`;

export class Catalog {
  readonly subscribers: SubscriberTable;
  readonly #conversions: ConversionTable;
  readonly #file: SqliteFile;
  readonly #path: string;
  readonly #health: FileHealth;
  readonly #checkpoints: Checkpoints;
  readonly #dataVersion: () => number;

  /** `onFailed`: it can be written no more, and its instance is to end. */
  constructor(dir: string, onFailed: (error: QueueError) => void) {
    this.#path = catalogPath(dir);
    this.#file = openCatalogFile(dir, limits.catalogBusyMs);
    this.#health = new FileHealth(this.#path, onFailed);
    this.#checkpoints = new Checkpoints(this.#file);
    this.subscribers = new SubscriberTable(this.#file);
    this.#conversions = new ConversionTable(this.#file);
    const dataVersion = this.#file.prepare('PRAGMA data_version').pluck();
    this.#dataVersion = () => dataVersion.get() as number;
  }

  /** Changes whenever another connection committed a change. */
  version(): number {
    return this.#run(this.#dataVersion);
  }

  queues(): QueueRow[] {
    const rows = this.#run(() => this.#file.prepare(`SELECT ${columns} FROM queue ORDER BY queue_id`).all());
    return (rows as StoredQueue[]).map((row) => ({
      ...row,
      priorities: row.priorities === 1,
      forwarding: row.forwarding === 1,
      correlationIndex: row.correlationIndex === 1,
      enqueueEnabled: row.enqueueEnabled === 1,
      dequeueEnabled: row.dequeueEnabled === 1,
    }));
  }

  /** The instances that a live process hosts. */
  hosted(): number[] {
    const hosts = this.#run(() =>
      this.#file.prepare('SELECT instance, pid, pid_started AS started FROM host ORDER BY instance').all(),
    ) as (ProcessId & { instance: number })[];
    return hosts.filter(isAlive).map(({ instance }) => instance);
  }

  /** Whether there ever was one of this number: no number is used again. */
  knew(what: 'queue' | 'subscriber', id: number): boolean {
    const last = this.#run(() =>
      this.#file.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(what),
    );
    return id <= ((last as number | undefined) ?? 0);
  }

  /**
   * Makes the queue, and one for what is handed out too often if that is limited. Throws `QUEUE_EXISTS`, or
   * `QUEUE_SPEC_INVALID` past the number of queues.
   */
  createQueue(row: NewQueueRow): void {
    this.#change(() => this.#createQueue(row));
  }

  #createQueue(row: NewQueueRow): void {
    const { kind, durability } = row;
    let exceptionQueueId: number | null = null;
    if (row.attemptsMax !== null) {
      const name = exceptionQueueName(row.name);
      const plain = { type: 'queue', shards: 1, priorities: false, attemptsMax: null, retryDelayMs: 0 };
      const cache = { cacheBytesMin: 0, cacheBytesMax: null };
      const { forwarding, correlationIndex } = row;
      const own = { ...plain, ...cache, name, kind, durability, forwarding, correlationIndex } as NewQueueRow;
      exceptionQueueId = this.#insertQueue(own, null);
    }
    this.#insertQueue(row, exceptionQueueId);
  }

  #insertQueue(row: NewQueueRow, exceptionQueueId: number | null): number {
    const count = this.#file.prepare('SELECT count(*) FROM queue').pluck().get() as number;
    if (count >= limits.queuesMax) {
      throw new QueueError('QUEUE_SPEC_INVALID', {
        sentence: `There are ${count} queues, as many as may be`,
      });
    }
    const { name, kind, type, shards, durability, priorities, attemptsMax, retryDelayMs, forwarding } = row;
    const { cacheBytesMin, cacheBytesMax, correlationIndex } = row;
    const made = this.#file
      .prepare(
        `INSERT INTO queue (name, kind, type, shards, durability, priorities, attempts_max, retry_delay_ms,
           forwarding, cache_bytes_min, cache_bytes_max, correlation_index, exception_queue_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      )
      .run(
        name,
        kind,
        type,
        shards,
        durability,
        Number(priorities),
        attemptsMax,
        retryDelayMs,
        Number(forwarding),
        cacheBytesMin,
        cacheBytesMax,
        Number(correlationIndex),
        exceptionQueueId,
      );
    if (made.changes === 0) throw new QueueError('QUEUE_EXISTS', { details: { queue: name } });
    return Number(made.lastInsertRowid);
  }

  /**
   * Returns whether there was one. Throws `QUEUE_IN_USE` for an exception queue whose queue is there, and
   * `QUEUE_CONVERTING`.
   */
  dropQueue(name: string): boolean {
    return this.#change(() => {
      this.#conversions.assertNone(name);
      const queueId = this.#file.prepare('SELECT queue_id FROM queue WHERE name = ?').pluck().get(name);
      if (queueId === undefined) return false;
      const user = this.#file
        .prepare('SELECT name FROM queue WHERE exception_queue_id = ?')
        .pluck()
        .get(queueId);
      if (user !== undefined) throw new QueueError('QUEUE_IN_USE', { details: { queue: name, user } });
      this.subscribers.removeOfQueue(queueId as number);
      this.#conversions.forget(name);
      return this.#removeQueue(name);
    });
  }

  #removeQueue(name: string): boolean {
    return this.#file.prepare('DELETE FROM queue WHERE name = ?').run(name).changes === 1;
  }

  /** Enables or disables the halves of a queue; what is undefined stays as it is. Throws `QUEUE_CONVERTING`. */
  enableQueue(name: string, which: { enqueue?: boolean | undefined; dequeue?: boolean | undefined }): void {
    this.#change(() => {
      this.#conversions.assertNone(name);
      if (!this.#enable(name, which)) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    });
  }

  #enable(name: string, which: { enqueue?: boolean | undefined; dequeue?: boolean | undefined }): boolean {
    const flag = (value: boolean | undefined) => (value === undefined ? null : Number(value));
    const { changes } = this.#file
      .prepare(
        `UPDATE queue SET enqueue_enabled = coalesce(?, enqueue_enabled),
           dequeue_enabled = coalesce(?, dequeue_enabled) WHERE name = ?`,
      )
      .run(flag(which.enqueue), flag(which.dequeue), name);
    return changes === 1;
  }

  conversion(queue: string): ConversionRow | undefined {
    return this.#run(() => this.#conversions.find(queue));
  }

  /** The conversion of the queue, begun if there was none. Throws `QUEUE_NOT_FOUND`, `QUEUE_NOT_CONVERTIBLE`. */
  beginConversion(conversion: NewConversion): ConversionRow {
    return this.#change(() => {
      const queue = conversion.settings.name;
      if (this.#conversions.find(queue) === undefined) this.#conversions.begin(conversion);
      return this.#conversions.find(queue)!;
    });
  }

  /**
   * Changes what a conversion is about, and the conversion, in one transaction. `work` returns how it goes on, or nothing if
   * there is nothing to do; what it throws leaves all as it was. Throws `CONVERSION_PAST_CANCEL`.
   */
  changeConversion(
    queue: string,
    work: (row: ConversionRow, change: ConversionChange) => ConversionCommand | undefined,
    nowMs: number,
  ): void {
    this.#change(() => {
      const row = this.#conversions.find(queue);
      if (row === undefined) return;
      const command = work(row, {
        enable: (which) => void this.#enable(queue, which),
        replaceQueue: () => {
          this.#removeQueue(queue);
          this.#createQueue(row.settings);
          this.#enable(queue, { enqueue: false, dequeue: false });
        },
        sizeCache: (bytesMax) => this.#set('cache_bytes_max', bytesMax),
      });
      if (command !== undefined) this.#conversions.move(row, command, nowMs);
    });
  }

  /** Bound of the message cache of each instance that was opened without one of its own, bytes; null: the default. */
  cacheBytesMax(): number | null {
    const value = this.#run(() =>
      this.#file.prepare(`SELECT value FROM setting WHERE name = 'cache_bytes_max'`).pluck().get(),
    );
    return (value as number | undefined) ?? null;
  }

  #set(name: string, value: number): void {
    this.#file.prepare('INSERT OR REPLACE INTO setting VALUES (?, ?)').run(name, value);
  }

  /** The instance that the application's tables lie on; undefined as long as it has none. */
  applicationHome(): number | undefined {
    return this.#run(() => readApplicationHome(this.#file));
  }

  /** Makes the instance their home, unless another one is already or it is about to leave; returns which one is. */
  claimApplicationHome(instance: number): number | undefined {
    return this.#run(() => claimApplicationHome(this.#file, instance));
  }

  close(): void {
    this.#file.close();
  }

  /** In one transaction. */
  #change<T>(work: () => T): T {
    return this.#run(() => this.#file.transaction(work).immediate());
  }

  #run<T>(work: () => T): T {
    const result = this.#health.run(work);
    this.#health.maintain(() => this.#checkpoints.afterCommit(0));
    return result;
  }
}
