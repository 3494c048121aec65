/** Starts the threads of a trial, and waits for what they report. */
import { Worker } from 'node:worker_threads';
import type { FromThread, ThreadJob, ThreadReport, ToThread } from './pipelining-job.ts';

const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));

export class LoadThread {
  readonly #worker: Worker;
  readonly #ready = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<ThreadReport>();
  #onCpu: ((cpuUs: number) => void) | undefined;

  constructor(job: ThreadJob) {
    for (const { promise } of [this.#ready, this.#done]) promise.catch(() => undefined);
    this.#worker = new Worker(new URL(`./load-thread${extension}`, import.meta.url), { workerData: job });
    this.#worker.on('message', (message: FromThread) => {
      if (message.type === 'ready') this.#ready.resolve();
      else if (message.type === 'cpu') this.#onCpu?.(message.cpuUs);
      else if (message.type === 'done') this.#done.resolve(message.report);
      else this.#fail(Object.assign(new Error(message.message), message));
    });
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', (code) => this.#fail(new Error(`A thread ended with exit code ${code}`)));
  }

  /** Later errors than the first are ignored. */
  #fail(error: unknown): void {
    this.#ready.reject(error);
    this.#done.reject(error);
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get done(): Promise<ThreadReport> {
    return this.#done.promise;
  }

  /** CPU time that the thread has used, µs. */
  async cpuUs(): Promise<number> {
    const answer = new Promise<number>((resolve) => {
      this.#onCpu = resolve;
    });
    this.#worker.postMessage('cpu' satisfies ToThread);
    return await answer;
  }
}
