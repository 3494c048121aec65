/**
 * The catalog: which queues exist in the cluster. One small file that every process of the cluster opens; its changes are
 * rare, so they are made synchronously and in full durability. Who hosts what is in the same file: `membership.ts`.
 */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { Durability, QueueKind, QueueType } from '../types.ts';
import { catalogPath, openCatalogFile } from './catalog-file.ts';
import { Checkpoints } from './checkpoint.ts';
import { FileHealth } from './file-health.ts';
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

export function exceptionQueueName(queue: string): string {
  return `${queue}.exceptions`;
}

/** SQLite has no booleans. */
interface StoredQueue extends Omit<QueueRow, 'priorities' | 'enqueueEnabled' | 'dequeueEnabled'> {
  priorities: number;
  enqueueEnabled: number;
  dequeueEnabled: number;
}

const columns = `queue_id AS queueId, name, kind, type, shards, durability, priorities,
  attempts_max AS attemptsMax, retry_delay_ms AS retryDelayMs, exception_queue_id AS exceptionQueueId,
  enqueue_enabled AS enqueueEnabled, dequeue_enabled AS dequeueEnabled`;

export class Catalog {
  readonly subscribers: SubscriberTable;
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
      enqueueEnabled: row.enqueueEnabled === 1,
      dequeueEnabled: row.dequeueEnabled === 1,
    }));
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
    const { kind, durability } = row;
    this.#run(() =>
      this.#file
        .transaction(() => {
          let exceptionQueueId: number | null = null;
          if (row.attemptsMax !== null) {
            const name = exceptionQueueName(row.name);
            const plain = { type: 'queue', shards: 1, priorities: false, attemptsMax: null, retryDelayMs: 0 };
            exceptionQueueId = this.#insertQueue({ ...plain, name, kind, durability } as NewQueueRow, null);
          }
          this.#insertQueue(row, exceptionQueueId);
        })
        .immediate(),
    );
  }

  #insertQueue(row: NewQueueRow, exceptionQueueId: number | null): number {
    const count = this.#file.prepare('SELECT count(*) FROM queue').pluck().get() as number;
    if (count >= limits.queuesMax) {
      throw new QueueError('QUEUE_SPEC_INVALID', {
        sentence: `There are ${count} queues, as many as may be`,
      });
    }
    const { name, kind, type, shards, durability, priorities, attemptsMax, retryDelayMs } = row;
    const made = this.#file
      .prepare(
        `INSERT INTO queue (name, kind, type, shards, durability, priorities, attempts_max, retry_delay_ms,
           exception_queue_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
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
        exceptionQueueId,
      );
    if (made.changes === 0) throw new QueueError('QUEUE_EXISTS', { details: { queue: name } });
    return Number(made.lastInsertRowid);
  }

  /** Returns whether there was one. Throws `QUEUE_IN_USE` for an exception queue whose queue is there. */
  dropQueue(name: string): boolean {
    return this.#run(() =>
      this.#file
        .transaction(() => {
          const queueId = this.#file.prepare('SELECT queue_id FROM queue WHERE name = ?').pluck().get(name);
          if (queueId === undefined) return false;
          const user = this.#file
            .prepare('SELECT name FROM queue WHERE exception_queue_id = ?')
            .pluck()
            .get(queueId);
          if (user !== undefined) throw new QueueError('QUEUE_IN_USE', { details: { queue: name, user } });
          this.subscribers.removeOfQueue(queueId as number);
          return this.#file.prepare('DELETE FROM queue WHERE queue_id = ?').run(queueId).changes === 1;
        })
        .immediate(),
    );
  }

  /** Enables or disables the halves of a queue; what is undefined stays as it is. */
  enableQueue(name: string, which: { enqueue?: boolean | undefined; dequeue?: boolean | undefined }): void {
    const flag = (value: boolean | undefined) => (value === undefined ? null : Number(value));
    const changed = this.#run(() =>
      this.#file
        .prepare(
          `UPDATE queue SET enqueue_enabled = coalesce(?, enqueue_enabled),
             dequeue_enabled = coalesce(?, dequeue_enabled) WHERE name = ?`,
        )
        .run(flag(which.enqueue), flag(which.dequeue), name),
    );
    if (changed.changes === 0) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
  }

  close(): void {
    this.#file.close();
  }

  #run<T>(work: () => T): T {
    const result = this.#health.run(work);
    this.#health.maintain(() => this.#checkpoints.afterCommit(0));
    return result;
  }
}
