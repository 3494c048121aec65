/**
 * Conversions that this server drives. Where each stands is kept by the engine, so one that was under way when a server ended
 * is found by the next, which goes on with it when it is asked to: nothing is converted that nobody is looking at.
 */
import type { Conversion, Convert } from '@shardlab/contract';
import {
  cancelConversion,
  convertQueue,
  type Conversion as EngineConversion,
  QueueError,
  readConversion,
} from '@shardlab/engine';
import type { QueueHost } from '../cluster/backend.ts';
import { ServerError } from '../errors.ts';
import { mapError } from '../http/map-error.ts';

interface Drive {
  /** Resolves when it has ended, well or not. */
  ended: Promise<void>;
  stop: AbortController;
}

export class ConversionService {
  readonly #cluster: { readonly dir: string; readonly queues: QueueHost };
  readonly #drives = new Map<string, Drive>();
  /** Why the last drive of a queue ended before it was done. */
  readonly #failures = new Map<string, unknown>();
  #closed = false;

  constructor(cluster: { readonly dir: string; readonly queues: QueueHost }) {
    this.#cluster = cluster;
  }

  /** Begins a conversion, or goes on with one; returns once it is begun. Throws what `convertQueue` throws before that. */
  async start(queue: string, { cacheMiB, ...options }: Convert): Promise<Conversion> {
    if (this.#closed) throw new ServerError('SERVER_CLOSING');
    if (!this.#drives.has(queue)) {
      const stop = new AbortController();
      const begun = Promise.withResolvers<void>();
      const converting = convertQueue({
        ...options,
        ...(cacheMiB !== undefined && { cacheBytesMax: cacheMiB * 1024 ** 2 }),
        dir: this.#cluster.dir,
        queue,
        signal: stop.signal,
        onStep: () => begun.resolve(),
      });
      const ended = this.#follow(queue, converting, stop.signal);
      this.#drives.set(queue, { ended, stop });
      await Promise.race([begun.promise, converting]).catch((error: unknown) => {
        this.#failures.delete(queue); // it never began: the caller has it
        throw error;
      });
    }
    return (await this.read(queue)) ?? notFound(queue);
  }

  async #follow(queue: string, converting: Promise<EngineConversion>, signal: AbortSignal): Promise<void> {
    this.#failures.delete(queue);
    try {
      await converting;
      await this.#cluster.queues.queues(); // every instance has seen it then
    } catch (error) {
      if (!signal.aborted) this.#failures.set(queue, error);
    } finally {
      this.#drives.delete(queue);
    }
  }

  /** Null if there was none. Throws `QUEUE_NOT_FOUND`. */
  async read(queue: string): Promise<Conversion | null> {
    const { dir, queues } = this.#cluster;
    const conversion = await readConversion({ dir, queue });
    if (conversion === undefined) {
      await queues.queue(queue);
      return null;
    }
    const failure = this.#failures.get(queue);
    return {
      ...conversion,
      running: this.#drives.has(queue),
      failure: failure === undefined ? null : mapError(failure).body,
    };
  }

  /** The unsharded queue goes on. Throws `CONVERSION_NOT_FOUND`, `CONVERSION_PAST_CANCEL`. */
  async cancel(queue: string): Promise<void> {
    const drive = this.#drives.get(queue);
    drive?.stop.abort();
    await drive?.ended;
    await cancelConversion({ dir: this.#cluster.dir, queue });
    this.#failures.delete(queue);
    await this.#cluster.queues.queues();
  }

  /** They stay where they are. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { stop } of this.#drives.values()) stop.abort();
    await Promise.all([...this.#drives.values()].map(({ ended }) => ended));
  }
}

/** It was cancelled before its beginning was told. */
function notFound(queue: string): never {
  throw new QueueError('CONVERSION_NOT_FOUND', { details: { queue } });
}
