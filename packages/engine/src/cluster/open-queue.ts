/** The queue inside one's own program, in a few lines: one instance, one queue, enqueue and consume. */
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { recordBytes } from '../storage/message-record.ts';
import type { Instance, Message, NewMessage, QueueInfo, QueueSpec, Session } from '../types.ts';
import { openInstance } from './open-instance.ts';

export interface OpenQueueOptions extends QueueSpec {
  /** Folder of the data; made if it is missing. */
  dir: string;
}

export interface ConsumeOptions {
  /** Handlers under way at a time, 1 to 1,000; default 1. */
  concurrency?: number;
  /** Ends the consumption: handlers under way finish and are committed. */
  signal?: AbortSignal;
  /** Told of an error that a handler or the commit threw; the message goes back and is handed out again after a pause. */
  onError?(error: unknown, message: Message): void;
}

export interface EmbeddedQueue {
  /**
   * Resolves with the ids once all the messages are durable, all or none. Calls that come while a commit is under way share
   * the next one; the order of calls is kept within a shard.
   */
  enqueue(messages: NewMessage | NewMessage[]): Promise<string[]>;
  /**
   * Calls the handler for each message and commits when it returns. Resolves when the signal aborts or the queue closes; a
   * queue that is stopped for dequeue, or being converted, is waited for.
   */
  consume(handler: (message: Message) => unknown, options?: ConsumeOptions): Promise<void>;
  /** For transactions of several operations. */
  openSession(): Session;
  info(): QueueInfo;
  /** Ends the consumers, finishes what is under way and closes the files. */
  close(): Promise<void>;
}

/** Opens a queue in this process and makes it if it is missing; throws what `openInstance` throws. */
export async function openQueue({ dir, ...spec }: OpenQueueOptions): Promise<EmbeddedQueue> {
  const instance = await openInstance({ dir });
  try {
    if (!instance.queues().some((queue) => queue.name === spec.name)) await instance.createQueue(spec);
  } catch (error) {
    await instance.close();
    throw error;
  }
  return new InlineQueue(instance, spec.name);
}

/** A handler that keeps failing is called again after 100 ms, 200 ms, … up to this. */
const pauseMsMax = 10_000;
const pauseMsMin = 100;
const waitMs = 60_000;

interface EnqueueCall {
  messages: NewMessage[];
  bytes: number;
  resolve(ids: string[]): void;
  reject(error: unknown): void;
}

class InlineQueue implements EmbeddedQueue {
  readonly #instance: Instance;
  readonly #name: string;
  readonly #session: Session;
  readonly #ending = new AbortController();
  readonly #consumers = new Set<Promise<void>>();
  #calls: EnqueueCall[] = [];
  #flushing: Promise<void> | undefined;

  constructor(instance: Instance, name: string) {
    this.#instance = instance;
    this.#name = name;
    this.#session = instance.openSession();
  }

  async enqueue(messages: NewMessage | NewMessage[]): Promise<string[]> {
    if (this.#ending.signal.aborted) throw new QueueError('INSTANCE_CLOSED');
    const list = Array.isArray(messages) ? messages : [messages];
    // A bad one must not fail those that share its commit.
    const bytes = list.reduce((sum, message) => sum + recordBytes(message), 0);
    return new Promise((resolve, reject) => {
      this.#calls.push({ messages: list, bytes, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  async #flush(): Promise<void> {
    while (this.#calls.length > 0) {
      const calls = this.#takeCalls();
      try {
        for (const { messages } of calls) {
          for (const message of messages) this.#session.enqueue(this.#name, message);
        }
        const { ids } = await this.#session.commit();
        let at = 0;
        for (const { messages, resolve } of calls) {
          resolve(ids.slice(at, at + messages.length));
          at += messages.length;
        }
      } catch (error) {
        await this.#session.rollback();
        for (const { reject } of calls) reject(error);
      }
    }
    this.#flushing = undefined;
  }

  /** As many calls as fit one transaction; a call that is too large by itself goes alone, and is refused alone. */
  #takeCalls(): EnqueueCall[] {
    let [operations, bytes, count] = [0, 0, 0];
    for (const call of this.#calls) {
      operations += call.messages.length;
      bytes += call.bytes;
      if (count > 0 && (operations > limits.transactionOperationsMax || bytes > limits.groupBytesMax)) break;
      count += 1;
    }
    return this.#calls.splice(0, count);
  }

  consume(handler: (message: Message) => unknown, options: ConsumeOptions = {}): Promise<void> {
    const { concurrency = 1 } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1_000) {
      return Promise.reject(
        new QueueError('OPTIONS_INVALID', { sentence: 'concurrency is a whole number, 1 to 1,000' }),
      );
    }
    const signals = [this.#ending.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const signal = AbortSignal.any(signals);
    const workers = Array.from({ length: concurrency }, () => this.#work(handler, signal, options.onError));
    const all = Promise.all(workers).then(() => undefined);
    const done = all.finally(() => this.#consumers.delete(done));
    this.#consumers.add(done);
    return done;
  }

  async #work(
    handler: (message: Message) => unknown,
    signal: AbortSignal,
    onError: ConsumeOptions['onError'],
  ): Promise<void> {
    const session = this.#instance.openSession();
    let pauseMs = pauseMsMin;
    try {
      while (!signal.aborted) {
        const message = await this.#next(session, signal);
        if (message === undefined) continue;
        try {
          await handler(message);
          await session.commit();
        } catch (error) {
          if (error instanceof QueueError && error.kind === 'failed') throw error;
          onError?.(error, message);
          await session.rollback();
          await pause(pauseMs, undefined, { signal }).catch(() => undefined); // an abort ends the pause
          pauseMs = Math.min(pauseMs * 2, pauseMsMax);
          continue;
        }
        pauseMs = pauseMsMin;
      }
    } finally {
      await session.close();
    }
  }

  /** A queue that is stopped will be started, and one that is converted is there: both are waited for. */
  async #next(session: Session, signal: AbortSignal): Promise<Message | undefined> {
    try {
      return (await session.dequeue(this.#name, { waitMs, signal }))[0];
    } catch (error) {
      if (!isPassing(error)) throw error;
      await pause(pauseMsMin, undefined, { signal }).catch(() => undefined);
      return undefined;
    }
  }

  openSession(): Session {
    return this.#instance.openSession();
  }

  info(): QueueInfo {
    return this.#instance.queue(this.#name);
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.allSettled(this.#consumers);
    await this.#flushing;
    await this.#instance.close();
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof QueueError && ['DEQUEUE_STOPPED', 'QUEUE_CONVERTED'].includes(error.code);
}
