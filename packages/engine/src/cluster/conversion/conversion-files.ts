/** The two files that a conversion writes: each change is one transaction, made under the write lock. */
import { existsSync } from 'node:fs';
import type { ConversionStage } from '../../api/conversion.ts';
import { QueueError } from '../../api/errors.ts';
import type { ConversionCommand } from '../../model/conversion.ts';
import type { QueueId } from '../../model/ids.ts';
import { pause } from '../../model/pause.ts';
import type { InstancePorts } from '../../model/ports.ts';
import { Catalog, type ConversionChange } from '../../storage/catalog/catalog.ts';
import { catalogPath } from '../../storage/catalog/catalog-file.ts';
import type { ConversionRow } from '../../storage/catalog/conversion-table.ts';
import { UnshardedFile } from '../../storage/unsharded/unsharded-file.ts';
import { WriteLock } from '../../unsharded/write-lock.ts';

/** No callback is needed: a failed write is thrown by the call itself and by every later one. */
const noop = () => undefined;
/** Pause before the next attempt when a process wrote to the file without the write lock, milliseconds. */
const busyRetryMs = 1;

export class ConversionFiles {
  readonly catalog: Catalog;
  readonly ports: InstancePorts;
  readonly #dir: string;
  readonly #queue: string;
  readonly #lock: WriteLock;
  #unsharded: UnshardedFile | undefined;

  /** Throws `QUEUE_NOT_FOUND` if the folder has no cluster, instead of creating one. */
  constructor(dir: string, queue: string, ports: InstancePorts) {
    if (!existsSync(catalogPath(dir))) {
      const sentence = `There are no queues in ${dir}`;
      throw new QueueError('QUEUE_NOT_FOUND', { message: sentence, details: { queue, path: dir } });
    }
    this.ports = ports;
    this.#dir = dir;
    this.#queue = queue;
    this.catalog = new Catalog(dir, { onFailed: noop, processes: ports.processes });
    this.#lock = new WriteLock({ dir, ports: this.ports, onWaited: noop });
  }

  /** Opened when first needed: the last steps of a conversion do not use it. */
  async openUnsharded(): Promise<UnshardedFile> {
    const queues = () => this.catalog.queues();
    const queueById = (queueId: QueueId) => queues().find((queue) => queue.queueId === queueId);
    this.#unsharded ??= await this.#lock.run(
      'commit',
      () => new UnshardedFile(this.#dir, { queues, queueById, onFailed: noop, ports: this.ports }),
    );
    return this.#unsharded;
  }

  /** Throws `CONVERSION_NOT_FOUND`. */
  findConversion(): ConversionRow {
    const row = this.catalog.conversion(this.#queue);
    if (row === undefined) throw new QueueError('CONVERSION_NOT_FOUND', { details: { queue: this.#queue } });
    return row;
  }

  /**
   * Changes the catalog and the stage of the conversion in one transaction. With `at` only if that is the current stage;
   * otherwise another process has already done the step.
   */
  changeCatalog(
    work: (row: ConversionRow, change: ConversionChange) => ConversionCommand,
    at?: ConversionStage,
  ): void {
    this.catalog.changeConversion(
      this.#queue,
      (row, change) => (at === undefined || row.stage === at ? work(row, change) : undefined),
      this.ports.clock.epochMs(),
    );
  }

  /** The same; what `work` writes to the unsharded file is durable before the catalog records the next stage. */
  async changeUnshardedAndCatalog(
    work: (row: ConversionRow, change: ConversionChange, unsharded: UnshardedFile) => ConversionCommand,
    at?: ConversionStage,
  ): Promise<void> {
    const unsharded = await this.openUnsharded();
    await this.withWriteLock(() => this.changeCatalog((row, change) => work(row, change, unsharded), at));
  }

  async withWriteLock<T>(work: () => T): Promise<T> {
    for (;;) {
      try {
        return await this.#lock.run('commit', work);
      } catch (error) {
        if (!UnshardedFile.isBusy(error)) throw error;
        await pause(this.ports.timers, busyRetryMs);
      }
    }
  }

  async close(): Promise<void> {
    const file = this.#unsharded;
    try {
      if (file !== undefined) await this.#lock.run('commit', () => file.close());
    } finally {
      this.catalog.close();
      await this.#lock.close();
    }
  }
}
