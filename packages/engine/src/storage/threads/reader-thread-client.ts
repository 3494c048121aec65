/** The session thread's side of the reader thread, which the first read starts. */

import type { Worker } from 'node:worker_threads';
import { QueueError } from '../../api/errors.ts';
import type { RequestNumber } from '../../model/ids.ts';
import type {
  FileReader,
  ReadOperation,
  ReadReply,
  ReadRequest,
  ReadResults,
} from '../../model/read-request.ts';
import { fromStorageFailure } from '../../model/storage-failure.ts';
import { keepThread, openInThread } from './file-threads.ts';

export class ReaderThread implements FileReader {
  readonly #path: string;
  #worker: Worker | undefined;
  #lastId: RequestNumber = 0;
  #closing = false;
  readonly #closed = Promise.withResolvers<void>();
  readonly #pending = new Map<
    RequestNumber,
    { resolve(reply: ReadReply): void; reject(error: unknown): void }
  >();

  constructor(path: string) {
    this.#path = path;
  }

  /** Rejects with the storage error if the read failed, with `INSTANCE_CLOSED` once `close` was called. */
  async read<R extends ReadOperation>(request: R): Promise<ReadResults[R['kind']]> {
    if (this.#closing) throw new QueueError('INSTANCE_CLOSED'); // the thread may serve another instance by now
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#lastId += 1;
    const id = this.#lastId;
    worker.ref(); // keeps the process alive until the answer
    const reply = await new Promise<ReadReply>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      worker.postMessage({ id, ...request } satisfies ReadRequest);
    });
    if (reply.failure !== null) throw fromStorageFailure(reply.failure);
    return reply.result as ReadResults[R['kind']];
  }

  #start(): Worker {
    const worker = openInThread('reader-thread', { path: this.#path });
    worker.on('message', (reply: ReadReply | 'closed') => {
      if (reply === 'closed') {
        keepThread('reader-thread', worker);
        this.#worker = undefined;
        this.#closed.resolve();
        return;
      }
      this.#pending.get(reply.id)?.resolve(reply);
      this.#pending.delete(reply.id);
      if (this.#pending.size === 0 && !this.#closing) worker.unref();
    });
    const died = (cause?: unknown) => {
      if (this.#worker !== worker) return; // its error was reported, and a later read may have started another thread
      this.#worker = undefined;
      this.#closed.resolve();
      for (const { reject } of this.#pending.values()) reject(new QueueError('STORAGE_FAILED', { cause }));
      this.#pending.clear();
    };
    worker.on('error', died);
    worker.on('exit', () => died());
    return worker;
  }

  /** Resolves when the file is closed. Reads before are answered first. */
  async close(): Promise<void> {
    this.#closing = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref(); // keeps the process alive until the file is closed
    worker.postMessage({ kind: 'close' });
    await this.#closed.promise;
  }
}
