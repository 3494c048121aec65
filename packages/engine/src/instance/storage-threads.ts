/** Starts and addresses the writer and the reader thread of an instance; nothing here knows what a message is. */
import { Worker } from 'node:worker_threads';
import { QueueError } from '../core/errors.ts';
import type { SqlStatement } from '../core/sql-statement.ts';
import { createAnswerMemory } from '../storage/answer-channel.ts';
import { createChannelMemory, GroupSender } from '../storage/group-channel.ts';
import type {
  AnyRead,
  Group,
  GroupResult,
  ReadReply,
  ReadRequest,
  ReadResults,
  RecoveredInstance,
  StatementAnswer,
  WriterReply,
  WriterRequest,
} from '../storage/group-message.ts';
import { fromFailure } from '../storage/storage-failure.ts';
import { WriterAnswers } from './writer-answers.ts';

function startThread(name: 'writer-thread' | 'reader-thread', workerData: object): Worker {
  // `.ts` in the repository, `.js` in the published package.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const worker = new Worker(new URL(`../storage/${name}${extension}`, import.meta.url), {
    workerData,
    name,
  });
  worker.unref();
  return worker;
}

/** A thread keeps the process alive only while an answer is due. */
class DueAnswers {
  #due = 0;
  #waitingSince = 0;
  readonly #worker: Worker;

  constructor(worker: Worker) {
    this.#worker = worker;
  }

  expect(): void {
    this.#due += 1;
    if (this.#due > 1) return;
    this.#waitingSince = performance.now();
    this.#worker.ref();
  }

  arrived(): void {
    this.#due -= 1;
    this.#waitingSince = performance.now();
    if (this.#due === 0) this.#worker.unref();
  }

  /** How long the oldest answer that is due has been the oldest; 0 if none is due. */
  get silentMs(): number {
    return this.#due === 0 ? 0 : performance.now() - this.#waitingSince;
  }
}

export interface WriterHandlers {
  onResult(result: GroupResult): void;
  /** The file can take no more, or the thread ended without being asked to. */
  onDeath(error: QueueError): void;
}

export class WriterThread {
  readonly #worker: Worker;
  readonly #due: DueAnswers;
  readonly #sender: GroupSender;
  readonly #answers: WriterAnswers;
  #closed: (() => void) | undefined;
  #statement: PromiseWithResolvers<StatementAnswer> | undefined;
  #dead = false;
  cpuUs = 0;

  private constructor(
    options: { path: string; emulatedSyncMs: number },
    onResult: WriterHandlers['onResult'],
  ) {
    const memory = { groups: createChannelMemory(), answers: createAnswerMemory() };
    const worker = startThread('writer-thread', { ...options, ...memory });
    this.#worker = worker;
    this.#sender = new GroupSender(memory.groups, (request) => worker.postMessage(request));
    this.#due = new DueAnswers(worker);
    this.#answers = new WriterAnswers(memory.answers, (answer) => {
      this.#due.arrived();
      this.cpuUs = answer.cpuUs;
      onResult(answer);
    });
  }

  /** Opens the file in a thread of its own and reads what is needed to go on. Throws what opening it throws. */
  static async start(
    options: { path: string; emulatedSyncMs: number },
    handlers: WriterHandlers,
  ): Promise<{ writer: WriterThread; recovered: RecoveredInstance }> {
    const writer = new WriterThread(options, handlers.onResult);
    const recovered = await new Promise<RecoveredInstance>((resolve, reject) => {
      writer.#due.expect();
      writer.#worker.on('message', (reply: WriterReply) => {
        writer.#answers.take(); // what was answered before this
        switch (reply.kind) {
          case 'group':
            writer.#answers.posted(reply);
            break;
          case 'opened':
            writer.#due.arrived();
            writer.cpuUs = reply.cpuUs;
            resolve(reply.recovered);
            break;
          case 'failed':
            writer.#due.arrived();
            reject(fromFailure(reply.failure));
            break;
          case 'broken':
            handlers.onDeath(fromFailure(reply.failure));
            break;
          case 'closed':
            writer.#due.arrived();
            writer.#closed?.();
            break;
          case 'statement':
            writer.#due.arrived();
            writer.#statement?.resolve(reply);
            break;
          case 'look':
        }
      });
      const died = (cause?: unknown) => {
        writer.#answers.take();
        writer.#dead = true;
        const error = new QueueError('INSTANCE_FAILED', { cause });
        reject(error);
        writer.#statement?.reject(error);
        if (writer.#closed === undefined) handlers.onDeath(error);
        else writer.#closed();
      };
      writer.#worker.on('error', died);
      writer.#worker.on('exit', () => died());
    });
    return { writer, recovered };
  }

  send(group: Group): void {
    this.#post(group);
    this.#answers.expect();
  }

  /** Runs a statement of the session that holds the writer, one at a time. Rejects if the thread ends. */
  execute(statement: SqlStatement): Promise<StatementAnswer> {
    if (this.#dead) return Promise.reject(new QueueError('INSTANCE_FAILED'));
    this.#statement = Promise.withResolvers();
    this.#post({ kind: 'statement', statement });
    return this.#statement.promise;
  }

  /** Undoes what was executed. Has no answer. */
  release(): void {
    this.#sender.send({ kind: 'release' });
  }

  /** How long the thread has been at what it is asked for; long beyond a sync, it hangs. */
  get silentMs(): number {
    return this.#due.silentMs;
  }

  /** Resolves when the file is closed; groups sent before are written first. */
  async close(): Promise<void> {
    if (this.#dead) return;
    await new Promise<void>((resolve) => {
      this.#closed = resolve;
      this.#post({ kind: 'close' });
    });
  }

  #post(request: WriterRequest): void {
    this.#due.expect();
    this.#sender.send(request);
  }
}

/** Bulk reads; the thread is started by the first one. */
export class ReaderThread {
  readonly #path: string;
  #worker: Worker | undefined;
  #due: DueAnswers | undefined;
  #lastId = 0;
  readonly #pending = new Map<number, { resolve(reply: ReadReply): void; reject(error: unknown): void }>();

  constructor(path: string) {
    this.#path = path;
  }

  /** Throws the storage error if the read failed. */
  async read<R extends AnyRead>(request: R): Promise<ReadResults[R['kind']]> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#lastId += 1;
    const id = this.#lastId;
    this.#due!.expect();
    const reply = await new Promise<ReadReply>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      worker.postMessage({ id, ...request } satisfies ReadRequest);
    });
    if (reply.failure !== null) throw fromFailure(reply.failure);
    return reply.result as ReadResults[R['kind']];
  }

  #start(): Worker {
    const worker = startThread('reader-thread', { path: this.#path });
    this.#due = new DueAnswers(worker);
    worker.on('message', (reply: ReadReply) => {
      this.#due!.arrived();
      this.#pending.get(reply.id)?.resolve(reply);
      this.#pending.delete(reply.id);
    });
    const died = (cause?: unknown) => {
      this.#worker = undefined;
      for (const { reject } of this.#pending.values()) reject(new QueueError('STORAGE_FAILED', { cause }));
      this.#pending.clear();
    };
    worker.on('error', died);
    worker.on('exit', () => died());
    return worker;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    this.#due!.expect(); // alive until it has ended, whatever read is answered meanwhile
    worker.postMessage('close');
    await ended;
  }
}
