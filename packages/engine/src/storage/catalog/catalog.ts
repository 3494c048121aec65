/**
 * The catalog: the queues, subscribers and conversions of the cluster. It is one small file that every process of the
 * cluster opens. Changes are rare, so they are made synchronously and fully synced. `membership.ts` has the rest of the file.
 */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { ConversionCommand } from '../../model/conversion.ts';
import type { Epoch, InstanceId, QueueId, SubscriberId } from '../../model/ids.ts';
import type { ProcessIdentity, ProcessTable } from '../../model/ports.ts';
import type { NewQueueRow, QueueRow } from '../../model/queue-row.ts';
import { FileHealth } from '../sqlite/file-health.ts';
import type { SqliteFile } from '../sqlite/open-sqlite.ts';
import { CheckpointScheduler } from '../sqlite/write-ahead-log.ts';
import { CatalogFile, catalogPath } from './catalog-file.ts';
import { type ConversionRow, ConversionTable, type NewConversion } from './conversion-table.ts';
import { claimSqlInstance, readSqlInstance } from './fixed-instances.ts';
import { readEpochOf, writeEpochOf } from './instance-epochs.ts';
import { type EnabledHalves, QueueTable } from './queue-table.ts';
import { SubscriberTable } from './subscriber-table.ts';

/** Changes that a step of a conversion may make to the catalog. */
export interface ConversionChange {
  setEnabled(halves: EnabledHalves): void;
  /** Replaces the unsharded queue by the sharded one, with both halves disabled. */
  replaceQueue(): void;
  setCacheBytesMax(bytesMax: number): void;
}

export interface CatalogOptions {
  /** The file can no longer be written, and the instance must end. */
  onFailed(error: QueueError): void;
  processes: ProcessTable;
}

export class Catalog {
  readonly #processes: ProcessTable;
  readonly subscribers: SubscriberTable;
  readonly #queues: QueueTable;
  readonly #conversions: ConversionTable;
  readonly #catalogFile: CatalogFile;
  readonly #file: SqliteFile;
  readonly #path: string;
  readonly #health: FileHealth;
  readonly #checkpoints: CheckpointScheduler;

  constructor(dir: string, { onFailed, processes }: CatalogOptions) {
    this.#processes = processes;
    this.#path = catalogPath(dir);
    this.#catalogFile = new CatalogFile(dir, {
      busyMs: limits.catalogBusyMsMax,
      pid: processes.self.pid,
    });
    this.#file = this.#catalogFile.database;
    this.#health = new FileHealth(this.#path, onFailed);
    this.#checkpoints = new CheckpointScheduler(this.#file);
    this.subscribers = new SubscriberTable(this.#catalogFile, processes);
    this.#queues = new QueueTable(this.#file);
    this.#conversions = new ConversionTable(this.#file);
  }

  /** Changes whenever another connection committed a change. */
  dataVersion(): number {
    return this.#run(() => this.#catalogFile.dataVersion());
  }

  queues(): QueueRow[] {
    return this.#read(() => this.#queues.read());
  }

  /** Instances that are hosted by a live process. */
  hostedInstances(): InstanceId[] {
    const hosts = this.#read(() =>
      this.#file.prepare('SELECT instance, pid, pid_started AS started FROM host ORDER BY instance').all(),
    ) as (ProcessIdentity & { instance: InstanceId })[];
    return hosts.filter((host) => this.#processes.isAlive(host)).map(({ instance }) => instance);
  }

  /** The instances besides this one: members of the cluster, hosted or not, and what processes host beside it. */
  otherInstances(instance: InstanceId): InstanceId[] {
    return this.#read(() =>
      this.#file
        .prepare(
          `SELECT instance FROM (SELECT instance FROM member UNION SELECT instance FROM host)
             WHERE instance <> ? ORDER BY instance`,
        )
        .pluck()
        .all(instance),
    ) as InstanceId[];
  }

  /** Whether a queue or subscriber of this id ever existed: ids are never reused. */
  everExisted(table: 'queue' | 'subscriber', id: QueueId | SubscriberId): boolean {
    const last = this.#read(() =>
      this.#file.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(table),
    );
    return id <= ((last as number | undefined) ?? 0);
  }

  /** Throws what `QueueTable.create` throws. */
  createQueue(row: NewQueueRow, options: { withExceptionQueue: boolean }): void {
    this.#runTransaction(() => this.#queues.create(row, options));
  }

  /** Throws what `QueueTable.ensureExceptionQueue` throws. */
  ensureExceptionQueue(queue: string): void {
    this.#runTransaction(() => this.#queues.ensureExceptionQueue(queue));
  }

  /**
   * Drops the queue and its exception queue. Returns whether the queue existed. Throws `QUEUE_IN_USE` for the exception queue of a queue that exists, and
   * `QUEUE_CONVERTING`.
   */
  dropQueue(name: string): boolean {
    return this.#runTransaction(() => {
      this.#conversions.assertNoneInProgress(name);
      const queueId = this.#queues.idOf(name);
      if (queueId === undefined) return false;
      this.#queues.assertNotExceptionQueue(name, queueId);
      this.subscribers.removeOfQueue(queueId);
      this.#conversions.remove(name);
      this.#queues.removeExceptionQueueOf(queueId);
      return this.#queues.remove(name);
    });
  }

  /** Enables or disables the halves of a queue; an undefined one stays as it is. Throws `QUEUE_CONVERTING`. */
  setQueueEnabled(name: string, halves: EnabledHalves): void {
    this.#runTransaction(() => {
      this.#conversions.assertNoneInProgress(name);
      if (!this.#queues.updateEnabled(name, halves))
        throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    });
  }

  conversion(queue: string): ConversionRow | undefined {
    return this.#read(() => this.#conversions.find(queue));
  }

  /** Returns the conversion of the queue, and begins one if there is none. Throws `QUEUE_NOT_FOUND`, `QUEUE_NOT_CONVERTIBLE`. */
  beginConversion(conversion: NewConversion): ConversionRow {
    return this.#runTransaction(() => {
      const queue = conversion.settings.name;
      if (this.#conversions.find(queue) === undefined) this.#conversions.begin(conversion);
      return this.#conversions.find(queue)!;
    });
  }

  /**
   * Changes the queue of a conversion and its stage in one transaction. `work` returns the command for the stage, or
   * undefined to leave it; if it throws, nothing changes. Throws `CONVERSION_PAST_CANCEL`.
   */
  changeConversion(
    queue: string,
    work: (row: ConversionRow, change: ConversionChange) => ConversionCommand | undefined,
    nowMs: number,
  ): void {
    this.#runTransaction(() => {
      const row = this.#conversions.find(queue);
      if (row === undefined) return;
      const command = work(row, {
        setEnabled: (halves) => void this.#queues.updateEnabled(queue, halves),
        replaceQueue: () => {
          this.#queues.remove(queue);
          this.#queues.create(row.settings, { withExceptionQueue: false });
          this.#queues.updateEnabled(queue, { enqueue: false, dequeue: false });
        },
        setCacheBytesMax: (bytesMax) => this.#writeSetting('cache_bytes_max', bytesMax),
      });
      if (command !== undefined) this.#conversions.applyCommand(row, command, nowMs);
    });
  }

  /** Bytes of the message cache of each instance that was opened without a bound of its own; null: the default. */
  cacheBytesMax(): number | null {
    const value = this.#read(() =>
      this.#file.prepare(`SELECT value FROM setting WHERE name = 'cache_bytes_max'`).pluck().get(),
    );
    return (value as number | undefined) ?? null;
  }

  #writeSetting(name: string, value: number): void {
    this.#file.prepare('INSERT OR REPLACE INTO setting VALUES (?, ?)').run(name, value);
  }

  /** The epoch of the instance's last opening; 0 if there was none. */
  epochOf(instance: InstanceId): Epoch {
    return this.#read(() => readEpochOf(this.#file, instance));
  }

  /** Call it before the instance serves. */
  setEpochOf(instance: InstanceId, epoch: Epoch): void {
    this.#runTransaction(() => writeEpochOf(this.#file, instance, epoch));
  }

  /** The instance that holds the application's tables; undefined while there are none. */
  sqlInstance(): InstanceId | undefined {
    return this.#read(() => readSqlInstance(this.#file));
  }

  /** Makes this the SQL instance unless another one is, or this one is leaving; returns the SQL instance, if any. */
  claimSqlInstance(instance: InstanceId): InstanceId | undefined {
    return this.#runTransaction(() => claimSqlInstance(this.#file, instance));
  }

  close(): void {
    this.#catalogFile.close();
  }

  /** Runs `work` in one transaction. */
  #runTransaction<T>(work: () => T): T {
    return this.#run(() => this.#catalogFile.change(work));
  }

  #read<T>(work: () => T): T {
    return this.#run(() => this.#catalogFile.read(work));
  }

  #run<T>(work: () => T): T {
    const result = this.#health.run(work);
    this.#health.runMaintenance(() => this.#checkpoints.afterCommit(0));
    return result;
  }
}
