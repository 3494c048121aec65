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
  /** 1: the thread is to end. */
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));

  constructor(files: ScrubbedFiles) {
    this.#worker = startThread('scrub-thread', { files, stop: this.#stop });
    this.faults = new Promise((resolve, reject) => {
      this.#worker.on('message', resolve);
      this.#worker.on('error', (cause) => reject(new QueueError('STORAGE_FAILED', { cause })));
      this.#worker.on('exit', () => reject(new QueueError('INSTANCE_CLOSED')));
    });
    this.faults.catch(() => undefined); // callers that wait for the faults get the error
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
  }

  /**
   * Ends it after its current slice. It is asked and not terminated: a thread that is terminated while it loads SQLite takes the
   * process with it.
   */
  async close(): Promise<void> {
    this.#worker.ref();
    Atomics.store(this.#stop, 0, 1);
    Atomics.notify(this.#stop, 0);
    await this.#ended;
  }
}
