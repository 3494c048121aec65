/**
 * Conversions that this server runs. The engine stores the progress of each, so the next server finds a conversion that was
 * interrupted. It resumes only on request, so that no conversion runs unattended.
 */
import type { Conversion, Convert } from '@shardlab/contract';
import {
  cancelConversion,
  convertQueue,
  type Conversion as EngineConversion,
  QueueError,
  readConversion,
} from '@shardlab/engine';
import type { Backend, QueueHost } from '../cluster/backend.ts';
import { unsupported } from '../cluster/store-backend.ts';
import { ServerError } from '../errors.ts';
import { mapError } from '../http/map-error.ts';
import type { HidePaths } from '../http/private-paths.ts';

interface RunningConversion {
  /** Resolves when the conversion has ended, successfully or not. */
  ended: Promise<void>;
  stop: AbortController;
}

interface ConvertedCluster {
  readonly dir: string;
  readonly store: Backend['store'];
  readonly queues: QueueHost;
  readonly hidePaths: HidePaths;
}

export class ConversionService {
  readonly #cluster: ConvertedCluster;
  readonly #running = new Map<string, RunningConversion>();
  /** Why the last conversion of each queue ended early. */
  readonly #failures = new Map<string, unknown>();
  #closed = false;

  constructor(cluster: ConvertedCluster) {
    this.#cluster = cluster;
  }

  /** Starts or resumes a conversion and returns once it has started. Throws what `convertQueue` throws before that. */
  async start(queue: string, { cacheMiB, ...options }: Convert): Promise<Conversion> {
    if (this.#closed) throw new ServerError('SERVER_CLOSING');
    this.#assertLocal();
    if (!this.#running.has(queue)) {
      const stop = new AbortController();
      const started = Promise.withResolvers<void>();
      const converting = convertQueue({
        ...options,
        ...(cacheMiB !== undefined && { cacheBytesMax: cacheMiB * 1024 ** 2 }),
        dir: this.#cluster.dir,
        queue,
        signal: stop.signal,
        onStep: () => started.resolve(),
      });
      const ended = this.#follow(queue, converting, stop.signal);
      this.#running.set(queue, { ended, stop });
      await Promise.race([started.promise, converting]).catch((error: unknown) => {
        this.#failures.delete(queue); // it never started, and the caller gets the error
        throw error;
      });
    }
    return (await this.read(queue)) ?? notFound(queue);
  }

  async #follow(queue: string, converting: Promise<EngineConversion>, signal: AbortSignal): Promise<void> {
    this.#failures.delete(queue);
    try {
      await converting;
      await this.#cluster.queues.queues(); // makes every instance see the change
    } catch (error) {
      if (!signal.aborted) this.#failures.set(queue, error);
    } finally {
      this.#running.delete(queue);
    }
  }

  /** Null if the queue was never converted. Throws `QUEUE_NOT_FOUND`. */
  async read(queue: string): Promise<Conversion | null> {
    const { dir, queues, hidePaths, store } = this.#cluster;
    const conversion = store.store === 'local' ? await readConversion({ dir, queue }) : undefined;
    if (conversion === undefined) {
      await queues.queue(queue);
      return null;
    }
    const failure = this.#failures.get(queue);
    return {
      ...conversion,
      running: this.#running.has(queue),
      failure: failure === undefined ? null : hidePaths(mapError(failure).body),
    };
  }

  /** The unsharded queue can be used again. Throws `CONVERSION_NOT_FOUND`, `CONVERSION_PAST_CANCEL`. */
  async cancel(queue: string): Promise<void> {
    this.#assertLocal();
    const running = this.#running.get(queue);
    running?.stop.abort();
    await running?.ended;
    await cancelConversion({ dir: this.#cluster.dir, queue });
    this.#failures.delete(queue);
    await this.#cluster.queues.queues();
  }

  #assertLocal(): void {
    if (this.#cluster.store.store !== 'local')
      throw unsupported(
        'The queues are on NATS servers: all of them are sharded, and there is nothing to convert',
      );
  }

  /** Interrupts running conversions; they can be resumed later. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { stop } of this.#running.values()) stop.abort();
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }
}

/** The conversion was cancelled before its start was reported. */
function notFound(queue: string): never {
  throw new QueueError('CONVERSION_NOT_FOUND', { details: { queue } });
}
