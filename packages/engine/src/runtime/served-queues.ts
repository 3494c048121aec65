/**
 * The queues of an instance as the catalog has them, and whether they are served: found by name for the calls of sessions,
 * and created, stopped, started and dropped.
 */
import { QueueError } from '../api/errors.ts';
import type { DropQueueOptions, QueueInfo, QueueSpec } from '../api/queue.ts';
import { pickQueueSettings } from '../api/queue-settings.ts';
import type { MessageCache } from '../log/message-cache.ts';
import { assertFields, assertName } from '../model/call-arguments.ts';
import { dropQueueFields, whichFields } from '../model/call-fields.ts';
import type { InstanceId, QueueId, SessionNumber } from '../model/ids.ts';
import { assertNoExceptions, exceptionsLeft, type QueueRow } from '../model/queue-row.ts';
import { validateSubscriber } from '../model/session-calls.ts';
import { sqlElsewhere } from '../model/sql-statement.ts';
import type { GoneCode, QueueCounts, QueueEngine } from '../queues/queue-engine.ts';
import type { Catalog } from '../storage/catalog/catalog.ts';
import type { Branches } from '../xa/branches.ts';
import { validateQueueSpec } from './validate-queue-spec.ts';

/** The interface of the instance that its sessions use. */
export interface SessionContext {
  /** The queue and the engine that runs it. Throws `QUEUE_NOT_FOUND`, `INSTANCE_CLOSED`, `INSTANCE_FAILED`. */
  findQueue(queue: string): FoundQueue;
  /**
   * The engine that takes the application's statements: its file has the tables, or the instance `home` has them, to which the
   * statements will be shipped. Throws `SQL_ELSEWHERE`, `INSTANCE_CLOSED`, `INSTANCE_FAILED`.
   */
  sqlEngine(home?: InstanceId): QueueEngine;
  shardedEngine(): QueueEngine;
  /** Throws `INSTANCE_CLOSED`, `INSTANCE_FAILED`. */
  branches(): Branches;
  /** Throws `INSTANCE_LEAVING`. */
  assertAcceptsMessages(): void;
  onSessionClosed(session: SessionNumber): void;
}

export interface FoundQueue {
  row: QueueRow;
  engine: QueueEngine;
}

/** Throws `ENQUEUE_STOPPED`, `INSTANCE_LEAVING`, and what `findQueue` throws. */
export function findForEnqueue(context: SessionContext, queue: string): FoundQueue {
  const found = context.findQueue(queue);
  if (!found.row.enqueueEnabled) throw new QueueError('ENQUEUE_STOPPED', { details: { queue } });
  context.assertAcceptsMessages();
  return found;
}

/** Throws `DEQUEUE_STOPPED`, and what `findQueue` and `validateSubscriber` throw. */
export function findForDequeue(
  context: SessionContext,
  queue: string,
  subscriber: string | undefined,
): FoundQueue {
  const found = context.findQueue(queue);
  validateSubscriber(found.row, subscriber);
  if (!found.row.dequeueEnabled) throw new QueueError('DEQUEUE_STOPPED', { details: { queue } });
  return found;
}

export interface ServedQueuesOptions {
  instance: InstanceId;
  catalog: Catalog;
  engines: Readonly<Record<QueueRow['kind'], QueueEngine>>;
  branches: Branches;
  cache: MessageCache;
  /** The cache size is the catalog's, because the instance was opened without `cacheBytesMax`. */
  followsCacheSize: boolean;
  /** The catalog was read again: what else depends on it is to follow. Called with all queues. */
  onCatalogRead(queues: readonly QueueRow[]): void;
  onSessionClosed(session: SessionNumber): void;
}

type Enabled = { enqueue?: boolean; dequeue?: boolean };

export class ServedQueues implements SessionContext {
  /** Why the instance has stopped serving. */
  endReason: QueueError | undefined;
  /** False once the instance is to leave the cluster: it then only delivers the messages that it has. */
  acceptsMessages = true;
  readonly #options: ServedQueuesOptions;
  #rows = new Map<string, QueueRow>();
  #rowsById = new Map<QueueId, QueueRow>();
  #catalogVersion: number;
  /** The instance that stores the application's tables, once known: it never changes. */
  #sqlInstance: InstanceId | undefined;

  constructor(options: ServedQueuesOptions) {
    this.#options = options;
    this.#catalogVersion = options.catalog.dataVersion();
  }

  findQueue(name: string): FoundQueue {
    this.assertServing();
    let row = this.#rows.get(name);
    if (row === undefined) {
      assertName('queue', name);
      this.refresh(); // another process may have created it just now
      row = this.#rows.get(name);
    }
    if (row === undefined) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    return { row, engine: this.engineOf(row) };
  }

  /** Throws the reason why the instance has stopped serving, if it has. */
  assertServing(): void {
    if (this.endReason !== undefined) throw this.endReason;
  }

  assertAcceptsMessages(): void {
    if (!this.acceptsMessages) throw this.#leaving();
  }

  #leaving(): QueueError {
    return new QueueError('INSTANCE_LEAVING', { details: { instance: this.#options.instance } });
  }

  onSessionClosed(session: SessionNumber): void {
    this.#options.onSessionClosed(session);
  }

  engineOf({ kind }: Pick<QueueRow, 'kind'>): QueueEngine {
    return this.#options.engines[kind];
  }

  /** Undefined if the catalog did not have it when it was last read, or if it was dropped since. */
  findById(queueId: QueueId): QueueRow | undefined {
    return this.#rowsById.get(queueId);
  }

  get rows(): QueueRow[] {
    return [...this.#rows.values()];
  }

  branches(): Branches {
    this.assertServing();
    return this.#options.branches;
  }

  shardedEngine(): QueueEngine {
    this.assertServing();
    return this.#options.engines.sharded;
  }

  /** The instance that gets the first SQL statement of the application in a cluster keeps the application's tables. */
  sqlEngine(home?: InstanceId): QueueEngine {
    this.assertServing();
    const { instance, catalog, engines } = this.#options;
    this.#sqlInstance ??= catalog.sqlInstance() ?? catalog.claimSqlInstance(instance);
    if (this.#sqlInstance === undefined) throw this.#leaving();
    if (this.#sqlInstance === instance || this.#sqlInstance === home) return engines.sharded;
    throw sqlElsewhere(instance, this.#sqlInstance);
  }

  /** Reads the catalog if another process may have changed it. */
  refresh(): void {
    const version = this.#options.catalog.dataVersion();
    if (version === this.#catalogVersion) return;
    this.#catalogVersion = version;
    this.read();
  }

  /** A change of the catalog could not be applied: the next `refresh` reads the catalog again. */
  retryAtNextRefresh(): void {
    this.#catalogVersion = -1;
  }

  /** Applies the catalog: new and dropped queues, started and stopped ones. If that fails, the next `refresh` tries again. */
  read(): void {
    try {
      this.#apply();
    } catch (error) {
      this.retryAtNextRefresh();
      throw error;
    }
  }

  #apply(): void {
    const { catalog, cache, followsCacheSize, onCatalogRead } = this.#options;
    const before = this.#rows;
    const rows = catalog.queues();
    this.#rows = new Map(rows.map((row) => [row.name, row]));
    this.#rowsById = new Map(rows.map((row) => [row.queueId, row]));
    for (const old of before.values()) {
      const now = this.#rows.get(old.name);
      if (now?.queueId !== old.queueId) {
        // Rows that could not be removed now are removed when the instance is opened again.
        this.engineOf(old)
          .lifecycle.drop(old, this.#goneCode(old))
          .catch(() => undefined);
      } else if (old.dequeueEnabled && !now.dequeueEnabled) this.engineOf(now).lifecycle.stopDequeue(now);
    }
    const cacheBytesMax = catalog.cacheBytesMax();
    if (followsCacheSize && cacheBytesMax !== null) cache.bytesMax = cacheBytesMax;
    onCatalogRead(rows);
  }

  #goneCode({ name, queueId }: QueueRow): GoneCode {
    return this.#options.catalog.conversion(name)?.queueId === queueId ? 'QUEUE_CONVERTED' : 'QUEUE_DROPPED';
  }

  create(spec: QueueSpec): QueueInfo {
    this.assertServing();
    const row = validateQueueSpec(spec);
    this.#assertCacheCapacity(row.cacheBytesMin);
    this.#options.catalog.createQueue(row, { withExceptionQueue: typeof spec.attemptsMax === 'number' });
    this.read();
    return this.infoOf(spec.name);
  }

  /** The cache must be large enough for what is reserved for each queue. */
  #assertCacheCapacity(cacheBytesMin: number): void {
    if (cacheBytesMin === 0) return;
    let kept = cacheBytesMin;
    for (const row of this.#rows.values()) kept += row.cacheBytesMin;
    const cacheBytesMax = this.#options.cache.bytesMax;
    if (kept <= cacheBytesMax) return;
    throw new QueueError('QUEUE_SPEC_INVALID', {
      message: `With cacheBytesMin ${cacheBytesMin} the message cache would have to keep ${kept} bytes for its queues, and it has ${cacheBytesMax}`,
      details: { cacheBytesMin, kept, instanceCacheBytesMax: cacheBytesMax },
    });
  }

  async drop(name: string, options: DropQueueOptions): Promise<void> {
    assertFields(options, dropQueueFields);
    const { row } = this.findQueue(name);
    const exceptions = this.rows.find(({ queueId }) => queueId === row.exceptionQueueId);
    if (exceptions !== undefined && options.withExceptions !== true) this.#assertDroppable(row, exceptions);
    if (!this.#options.catalog.dropQueue(name))
      throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    const dropped = exceptions === undefined ? [row] : [row, exceptions];
    for (const each of dropped) {
      this.#rows.delete(each.name);
      this.#rowsById.delete(each.queueId);
    }
    await Promise.all(dropped.map((each) => this.engineOf(each).lifecycle.drop(each, 'QUEUE_DROPPED')));
  }

  /** A message that fails after this check was one of the queue's own, which are dropped in any case. */
  #assertDroppable({ name }: QueueRow, exceptions: QueueRow): void {
    assertNoExceptions(name, exceptions.name, this.engineOf(exceptions).statistics.counts(exceptions));
    if (exceptions.kind !== 'sharded') return;
    const instances = this.#options.catalog.otherInstances(this.#options.instance);
    if (instances.length === 0) return;
    throw exceptionsLeft(
      name,
      exceptions.name,
      `Other instances of the cluster may have messages of ${exceptions.name}, which only a client of all of them knows`,
      { instances },
    );
  }

  /** The exception queue of a queue, created if it is missing. Throws what `QueueTable.ensureExceptionQueue` throws. */
  exceptionQueueOf({ name, queueId }: QueueRow): QueueRow | undefined {
    const find = () => {
      const row = this.#rows.get(name);
      return row?.queueId === queueId ? row.exceptionQueueId : null;
    };
    if (find() === null) {
      this.#options.catalog.ensureExceptionQueue(name);
      this.read();
    }
    const exceptionQueueId = find();
    return this.rows.find((row) => exceptionQueueId !== null && row.queueId === exceptionQueueId);
  }

  setEnabled(name: string, which: Enabled, enabled: boolean): QueueInfo {
    assertFields(which, whichFields);
    this.findQueue(name);
    this.#options.catalog.setQueueEnabled(name, {
      enqueue: which.enqueue ? enabled : undefined,
      dequeue: which.dequeue ? enabled : undefined,
    });
    this.read();
    return this.infoOf(name);
  }

  infos(): QueueInfo[] {
    this.assertServing();
    this.refresh();
    return this.rows.map((row) => this.#infoOrFault(row));
  }

  /** A queue whose file cannot be read must not keep the others out of a list. */
  #infoOrFault(row: QueueRow): QueueInfo {
    try {
      return this.#info(row, this.engineOf(row).statistics.counts(row));
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
      const none = {
        ready: 0,
        held: 0,
        delayed: 0,
        enqueued: 0,
        consumed: 0,
        forwardedIn: 0,
        forwardedOut: 0,
        refused: 0,
        lost: 0,
      };
      const unknown = { shards: row.shards, cacheBytes: 0, ...none };
      return { ...this.#info(row, unknown), fault: { code: error.code, message: error.message } };
    }
  }

  infoOf(name: string): QueueInfo {
    const { row, engine } = this.findQueue(name);
    return this.#info(row, engine.statistics.counts(row));
  }

  #info(row: QueueRow, counts: QueueCounts): QueueInfo {
    const { name, enqueueEnabled, dequeueEnabled } = row;
    const exceptionQueue =
      row.exceptionQueueId === null ? null : (this.findById(row.exceptionQueueId)?.name ?? null);
    return { name, ...pickQueueSettings(row), exceptionQueue, enqueueEnabled, dequeueEnabled, ...counts };
  }
}
