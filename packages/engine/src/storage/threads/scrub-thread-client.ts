/** Runs one scrub in a thread of its own. */
import type { Worker } from 'node:worker_threads';
import { QueueError } from '../../api/errors.ts';
import type { ScrubbedFiles } from './scrub-files.ts';
import { startThread } from './start-thread.ts';

export class ScrubThread {
  readonly #worker: Worker;
  /** All faults found, in sentences. Rejects if the thread could not do its work. */
  readonly faults: Promise<string[]>;
  readonly #ended: Promise<void>;

  constructor(files: ScrubbedFiles) {
    this.#worker = startThread('scrub-thread', { files });
    this.faults = new Promise((resolve, reject) => {
      this.#worker.on('message', resolve);
      this.#worker.on('error', (cause) => reject(new QueueError('STORAGE_FAILED', { cause })));
      this.#worker.on('exit', () => reject(new QueueError('INSTANCE_CLOSED')));
    });
    this.faults.catch(() => undefined); // whoever waits for them gets the error
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
  }

  /** Ends it, before its end if need be. */
  async close(): Promise<void> {
    this.#worker.ref();
    await this.#worker.terminate();
    await this.#ended;
  }
}
