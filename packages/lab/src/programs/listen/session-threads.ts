/** Starts the threads of a trial, and waits for what they report. */
import { Worker } from 'node:worker_threads';
import type { LedgerReport } from '../../integrity/ledger.ts';
import type { FromThread, ThreadJob } from './listen-job.ts';

const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));

export class SessionWorker {
  readonly #ready = Promise.withResolvers<number[]>();
  readonly #done = Promise.withResolvers<LedgerReport>();

  constructor(job: ThreadJob) {
    for (const { promise } of [this.#ready, this.#done]) promise.catch(() => undefined);
    const worker = new Worker(new URL(`./session-thread${extension}`, import.meta.url), { workerData: job });
    worker.on('message', (message: FromThread) => {
      if (message.type === 'ready') this.#ready.resolve(message.sessions);
      else if (message.type === 'done') this.#done.resolve(message.ledger);
      else this.#fail(Object.assign(new Error(message.message), message));
    });
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', (code) => this.#fail(new Error(`A thread ended with exit code ${code}`)));
  }

  /** The first error counts. */
  #fail(error: unknown): void {
    this.#ready.reject(error);
    this.#done.reject(error);
  }

  /** Numbers of its sessions, once they are open. */
  get ready(): Promise<number[]> {
    return this.#ready.promise;
  }

  get done(): Promise<LedgerReport> {
    return this.#done.promise;
  }
}
