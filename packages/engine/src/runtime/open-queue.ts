/** A queue inside the caller's program in a few lines: one instance, one queue, enqueue and consume. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { Message, NewMessage } from '../api/message.ts';
import type { QueueInfo, QueueSpec } from '../api/queue.ts';
import { queueSettingNames } from '../api/queue-settings.ts';
import type { Session } from '../api/session.ts';
import type { NatsOptions, QueueStore } from '../api/store.ts';
import { assertFields, assertFunction, assertName, fieldsOf } from '../model/call-arguments.ts';
import { natsOptionKinds, queueSettingKinds } from '../model/call-fields.ts';
import { returnOfThrown } from '../model/failed-attempts.ts';
import { FailureLog } from '../model/failure-log.ts';
import { pause } from '../model/pause.ts';
import type { Ports } from '../model/ports.ts';
import { assertNewMessage, recordBytes, validateRange } from '../model/session-calls.ts';
import { nodePorts } from '../node-ports.ts';
import { assertSameSettings } from './assert-same-settings.ts';
import { openInstance } from './open-instance.ts';
import { openNatsStore } from './open-nats-store.ts';

/** A buffered queue has calls of its own, for which `openInstance` is as short. */
export interface OpenQueueOptions extends Omit<QueueSpec, 'visibility' | 'messagesMax'> {
  /** Folder of the data; created if it is missing. */
  dir: string;
}

/** A queue on the servers of a NATS cluster; it is created there if it is missing. */
export interface OpenNatsQueueOptions extends NatsOptions, Omit<OpenQueueOptions, 'dir'> {}

export interface ConsumeOptions {
  /** Number of handlers that run at the same time, 1 to 1,000; default 1. */
  concurrency?: number;
  /** Ends the consumption: running handlers finish and are committed. */
  signal?: AbortSignal;
  /**
   * Called with an error of a handler or a commit. Default: lines on standard error, at most ten in ten seconds. What it throws
   * ends the consumption.
   */
  onError?(error: unknown, message: Message): void;
}

const consumeFields = fieldsOf<ConsumeOptions>('consume', {
  concurrency: 'number',
  signal: 'signal',
  onError: 'function',
});

export interface EmbeddedQueue {
  /**
   * Resolves with the ids once the messages are durable: all of them or none. Calls during a commit share the next one; the
   * order of calls is kept within a shard.
   */
  enqueue(messages: NewMessage | NewMessage[]): Promise<string[]>;
  /**
   * Calls the handler for each message and commits when it returns. Resolves when the signal aborts or the queue is closed.
   * While the queue is stopped for dequeue or being converted, it waits.
   *
   * A message whose handler throws goes back and waits, for the queue's `retryDelayMs` or a back-off of 100 ms to 10 s, while the
   * others pass it. When its attempts are used up (`attemptsMax`, 5 by default) it moves to the exception queue, with the error.
   * A handler that throws `RejectMessage` moves it there at once, and one that throws `RetryLater` chooses the delay.
   */
  consume(handler: (message: Message) => unknown, options?: ConsumeOptions): Promise<void>;
  /** For transactions of several operations. */
  openSession(): Session;
  info(): QueueInfo;
  /** Ends the consumers, finishes the commits under way and closes the files. */
  close(): Promise<void>;
}

/** The same calls for a queue on servers. Its counts must be requested from them. */
export interface StoreQueue extends Omit<EmbeddedQueue, 'info'> {
  info(): Promise<QueueInfo>;
}

/**
 * Opens a queue in this process, or on the servers of a NATS cluster, and creates it if it is missing. Throws what
 * `openInstance` throws; with `nats`, `STORE_NOT_INSTALLED` and what the store throws.
 */
export async function openQueue(options: OpenQueueOptions): Promise<EmbeddedQueue>;
export async function openQueue(options: OpenNatsQueueOptions): Promise<StoreQueue>;
export async function openQueue(options: OpenQueueOptions | OpenNatsQueueOptions) {
  const isOnServers = typeof options === 'object' && options !== null && 'nats' in options;
  assertFields(options, isOnServers ? natsQueueFields : embeddedQueueFields);
  assertName('name', options.name);
  return isOnServers ? openOnServers(options) : openEmbedded(options);
}

const { visibility: _visibility, messagesMax: _messagesMax, ...settingKinds } = queueSettingKinds;
const ownFields = { name: 'string', ...settingKinds } as const;
const embeddedQueueFields = fieldsOf<OpenQueueOptions>('openQueue', { dir: 'string', ...ownFields });
const natsQueueFields = fieldsOf<OpenNatsQueueOptions>('openQueue', { ...natsOptionKinds, ...ownFields });

async function openEmbedded({ dir, ...spec }: OpenQueueOptions): Promise<EmbeddedQueue> {
  const instance = await openInstance({ dir });
  try {
    const existing = instance.queues().find(({ name }) => name === spec.name);
    if (existing === undefined) await instance.createQueue(spec);
    else assertSameSettings(spec, existing);
  } catch (error) {
    await instance.close();
    throw error;
  }
  return new OpenQueue(instance, spec.name, {
    ports: nodePorts,
    messagesMax: limits.transactionOperationsMax,
  });
}

async function openOnServers(options: OpenNatsQueueOptions): Promise<StoreQueue> {
  const { spec, nats } = splitOptions(options);
  const store = await openNatsStore(nats);
  try {
    const existing = (await store.queues()).find(({ name }) => name === spec.name);
    if (existing === undefined) await createOnce(store, spec);
    else assertSameSettings(spec, existing);
    const { transactionMessagesMax: messagesMax } = store;
    return new OpenQueue(store, spec.name, { ports: nodePorts, messagesMax });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The specification and the options of the store, which have credentials that errors of a specification would show. */
function splitOptions({ name, ...options }: OpenNatsQueueOptions): { spec: QueueSpec; nats: NatsOptions } {
  const isSetting = ([option]: [string, unknown]) => (queueSettingNames as string[]).includes(option);
  const entries = Object.entries(options);
  const settings = entries.filter((entry) => isSetting(entry) && entry[1] !== undefined);
  const others = entries.filter((entry) => !isSetting(entry));
  return {
    spec: { name, ...Object.fromEntries(settings) },
    nats: Object.fromEntries(others) as unknown as NatsOptions,
  };
}

/** Several processes may open a queue at the same time that none of them has found. */
async function createOnce(store: QueueStore, spec: QueueSpec): Promise<void> {
  try {
    await store.createQueue(spec);
  } catch (error) {
    if (!(error instanceof QueueError && error.code === 'QUEUE_EXISTS')) throw error;
    assertSameSettings(spec, await store.queue(spec.name));
  }
}

/** The pause after a commit that failed doubles from `retryPauseMsMin` to this, milliseconds. */
const retryPauseMsMax = 10_000;
const retryPauseMsMin = 100;
const dequeueWaitMs = 60_000;

interface EnqueueCall {
  messages: NewMessage[];
  bytes: number;
  resolve(ids: string[]): void;
  reject(error: unknown): void;
}

interface OpenedHost<Info> {
  openSession(): Session;
  queue(name: string): Info;
  close(): Promise<void>;
}

class OpenQueue<Info> {
  readonly #host: OpenedHost<Info>;
  readonly #name: string;
  readonly #ports: Pick<Ports, 'clock' | 'timers'>;
  /** Limit of one transaction. */
  readonly #messagesMax: number;
  readonly #session: Session;
  readonly #ending = new AbortController();
  readonly #consumers = new Set<Promise<void>>();
  #pendingCalls: EnqueueCall[] = [];
  #flushing: Promise<void> | undefined;

  constructor(
    host: OpenedHost<Info>,
    name: string,
    { ports, messagesMax }: { ports: Pick<Ports, 'clock' | 'timers'>; messagesMax: number },
  ) {
    this.#host = host;
    this.#messagesMax = messagesMax;
    this.#name = name;
    this.#ports = ports;
    this.#session = host.openSession();
  }

  async enqueue(messages: NewMessage | NewMessage[]): Promise<string[]> {
    if (this.#ending.signal.aborted) throw new QueueError('INSTANCE_CLOSED');
    const list = Array.isArray(messages) ? messages : [messages];
    for (const message of list) assertNewMessage(message);
    // Throws for a message that no queue takes. What this queue does not take is refused when it is staged.
    const bytes = list.reduce((sum, message) => sum + recordBytes(message), 0);
    return new Promise((resolve, reject) => {
      this.#pendingCalls.push({ messages: list, bytes, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  async #flush(): Promise<void> {
    while (this.#pendingCalls.length > 0) {
      const calls = this.#takeCallsOfOneCommit();
      let staging: EnqueueCall | undefined;
      try {
        for (const call of calls) {
          staging = call;
          for (const message of call.messages) this.#session.enqueue(this.#name, message);
        }
        staging = undefined;
        const { ids } = await this.#session.commit();
        let at = 0;
        for (const { messages, resolve } of calls) {
          resolve(ids.slice(at, at + messages.length));
          at += messages.length;
        }
      } catch (error) {
        await this.#session.rollback().catch(() => undefined); // the callers get the first error
        // In a later turn: a caller that retries at once must not keep the event loop from the work that lets it succeed.
        await new Promise<void>((resume) => this.#ports.timers.nextTurn(resume));
        // A call that could not be staged fails alone: the others are staged again.
        if (staging !== undefined) this.#pendingCalls.unshift(...calls.filter((call) => call !== staging));
        for (const { reject } of staging === undefined ? calls : [staging]) reject(error);
      }
    }
    this.#flushing = undefined;
  }

  /** Takes as many calls as fit one transaction. A call that is too large by itself is taken, and refused, alone. */
  #takeCallsOfOneCommit(): EnqueueCall[] {
    let [operations, bytes, count] = [0, 0, 0];
    for (const call of this.#pendingCalls) {
      operations += call.messages.length;
      bytes += call.bytes;
      if (count > 0 && (operations > this.#messagesMax || bytes > limits.groupBytesMax)) break;
      count += 1;
    }
    return this.#pendingCalls.splice(0, count);
  }

  consume(handler: (message: Message) => unknown, options: ConsumeOptions = {}): Promise<void> {
    try {
      assertFunction('handler', handler);
      assertFields(options, consumeFields);
      validateRange('concurrency', options.concurrency ?? 1, 1, 1_000);
    } catch (error) {
      return Promise.reject(error);
    }
    const { concurrency = 1 } = options;
    const log = new FailureLog(this.#name, this.#ports.clock);
    const onError = options.onError ?? log.add;
    const failure = new AbortController();
    const signals = [this.#ending.signal, failure.signal];
    if (options.signal !== undefined) signals.push(options.signal);
    const signal = AbortSignal.any(signals);
    const workers = Array.from({ length: concurrency }, () =>
      this.#runConsumer(handler, signal, onError).catch((error: unknown) => {
        failure.abort(); // the others end too
        throw error;
      }),
    );
    const done = allEnded(workers).finally(() => {
      this.#consumers.delete(done);
      log.end();
    });
    this.#consumers.add(done);
    return done;
  }

  async #runConsumer(
    handler: (message: Message) => unknown,
    signal: AbortSignal,
    onError: NonNullable<ConsumeOptions['onError']>,
  ): Promise<void> {
    const session = this.#host.openSession();
    let pauseMs = retryPauseMsMin;
    try {
      while (!signal.aborted) {
        const message = await this.#dequeueNext(session, signal);
        if (message === undefined) continue;
        try {
          await handler(message);
        } catch (error) {
          onError(error, message);
          await session.rollback(returnOfThrown(error)); // the message waits, not this consumer
          continue;
        }
        try {
          await session.commit(); // one that fails has returned the message
        } catch (error) {
          if (error instanceof QueueError && (error.kind === 'failed' || error.kind === 'bug')) throw error;
          onError(error, message);
          await pause(this.#ports.timers, pauseMs, signal);
          pauseMs = Math.min(pauseMs * 2, retryPauseMsMax);
          continue;
        }
        pauseMs = retryPauseMsMin;
      }
    } finally {
      await session.close();
    }
  }

  /** Resolves with undefined after a pause if the queue is stopped or being converted, or no server answers. */
  async #dequeueNext(session: Session, signal: AbortSignal): Promise<Message | undefined> {
    try {
      return (await session.dequeue(this.#name, { waitMs: dequeueWaitMs, signal }))[0];
    } catch (error) {
      if (!isTransient(error)) throw error;
      await pause(this.#ports.timers, retryPauseMsMin, signal);
      return undefined;
    }
  }

  openSession(): Session {
    return this.#host.openSession();
  }

  info(): Info {
    return this.#host.queue(this.#name);
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.allSettled(this.#consumers);
    await this.#flushing;
    await this.#host.close();
  }
}

/** Resolves when all have resolved; rejects once all have ended if any failed. */
async function allEnded(workers: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(workers);
  await Promise.all(workers);
}

function isTransient(error: unknown): boolean {
  return (
    error instanceof QueueError &&
    ['DEQUEUE_STOPPED', 'QUEUE_CONVERTED', 'INSTANCE_UNREACHABLE'].includes(error.code)
  );
}
