/** The two files that a conversion writes to, and how: in its turn among the writers, each change in one transaction. */
import { existsSync } from 'node:fs';
import type { ConversionCommand, ConversionStage } from '../../core/conversion.ts';
import { QueueError } from '../../core/errors.ts';
import { Catalog, type ConversionChange } from '../../storage/catalog.ts';
import { catalogPath } from '../../storage/catalog-file.ts';
import type { ConversionRow } from '../../storage/conversion-table.ts';
import { UnshardedFile } from '../../storage/unsharded-file.ts';
import { WriteLock } from '../write-lock.ts';

/** A failed write is thrown by the call that made it, and every later call. */
const ignore = () => undefined;
/** Pause before another try when a process wrote to the file without having asked, milliseconds. */
const busyRetryMs = 1;

export class ConversionFiles {
  readonly catalog: Catalog;
  readonly #dir: string;
  readonly #queue: string;
  readonly #lock: WriteLock;
  #unsharded: UnshardedFile | undefined;

  /** Throws `QUEUE_NOT_FOUND` where no cluster is, rather than make one. */
  constructor(dir: string, queue: string) {
    if (!existsSync(catalogPath(dir))) {
      const sentence = `There are no queues in ${dir}`;
      throw new QueueError('QUEUE_NOT_FOUND', { sentence, details: { queue, path: dir } });
    }
    this.#dir = dir;
    this.#queue = queue;
    this.catalog = new Catalog(dir, ignore);
    this.#lock = new WriteLock({ dir, onWaited: ignore });
  }

  /** Opened when it is first needed: a conversion that has left it behind does not. */
  async unsharded(): Promise<UnshardedFile> {
    const queues = () => this.catalog.queues();
    this.#unsharded ??= await this.#lock.run('commit', () => new UnshardedFile(this.#dir, queues, ignore));
    return this.#unsharded;
  }

  /** Throws `CONVERSION_NOT_FOUND`. */
  find(): ConversionRow {
    const row = this.catalog.conversion(this.#queue);
    if (row === undefined) throw new QueueError('CONVERSION_NOT_FOUND', { details: { queue: this.#queue } });
    return row;
  }

  /**
   * Changes the catalog in one transaction and notes how the conversion goes on. `at`: only if this is the step that is due,
   * else somebody else has done it.
   */
  inCatalog(
    work: (row: ConversionRow, change: ConversionChange) => ConversionCommand,
    at?: ConversionStage,
  ): void {
    this.catalog.changeConversion(
      this.#queue,
      (row, change) => (at === undefined || row.stage === at ? work(row, change) : undefined),
      Date.now(),
    );
  }

  /** The same; what `work` writes to the unsharded file is durable before the catalog notes it. */
  async inBoth(
    work: (row: ConversionRow, change: ConversionChange, unsharded: UnshardedFile) => ConversionCommand,
    at?: ConversionStage,
  ): Promise<void> {
    const unsharded = await this.unsharded();
    await this.inTurn(() => this.inCatalog((row, change) => work(row, change, unsharded), at));
  }

  async inTurn<T>(work: () => T): Promise<T> {
    for (;;) {
      try {
        return await this.#lock.run('commit', work);
      } catch (error) {
        if (!UnshardedFile.isBusy(error)) throw error;
        await new Promise((resume) => setTimeout(resume, busyRetryMs));
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
