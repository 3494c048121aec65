/** A shared topic, and sessions of it on threads whose calls a test makes. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished } from 'vitest';
import type {
  Instance,
  NewMessage,
  QueueSpec,
  SharedDequeueOptions,
  SharedEnqueueOptions,
  SharedQueue,
  SharedQueueHandle,
  ShareQueueOptions,
  ThreadSessionStatistics,
} from '../../src/index.ts';
import { shareQueue } from '../../src/index.ts';
import { openTestInstance } from '../folder.ts';
import type { SessionCall } from './session-thread.ts';

export interface Shared {
  instance: Instance;
  shared: SharedQueue;
}

/** Creates a topic `news` with the named subscribers and shares it. */
export async function shareTopic(
  names: string[],
  options: Partial<ShareQueueOptions> = {},
  spec: Partial<QueueSpec> = {},
): Promise<Shared> {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'news', type: 'topic', durability: 'memory', ...spec });
  for (const name of names) await instance.subscribe('news', { name });
  return { instance, shared: await shareTest(instance, options) };
}

export async function shareTest(
  instance: Instance,
  options: Partial<ShareQueueOptions> = {},
): Promise<SharedQueue> {
  const shared = await shareQueue(instance, { queue: 'news', ...options });
  onTestFinished(() => shared.close());
  return shared;
}

type Answer = { value: unknown } | { error: { code?: string; message: string; details?: unknown } };

export class SessionThread {
  readonly #worker: Worker;
  id = 0;

  private constructor(handle: SharedQueueHandle) {
    this.#worker = new Worker(new URL('./session-thread.ts', import.meta.url), { workerData: handle });
    onTestFinished(async () => void (await this.#worker.terminate()));
  }

  static async open({ handle }: SharedQueue): Promise<SessionThread> {
    const thread = new SessionThread(handle);
    thread.id = (await thread.#answer()) as number;
    return thread;
  }

  async #answer(): Promise<unknown> {
    const [answer] = (await once(this.#worker, 'message')) as [Answer];
    if ('value' in answer) return answer.value;
    throw Object.assign(new Error(answer.error.message), answer.error);
  }

  #call(method: SessionCall['method'], ...args: unknown[]): Promise<unknown> {
    this.#worker.postMessage({ method, args } satisfies SessionCall);
    return this.#answer();
  }

  enqueue(
    payload: string,
    recipient: string,
    options: SharedEnqueueOptions = { visibility: 'immediate' },
    fields: Pick<NewMessage, 'priority' | 'delayMs'> = {},
  ) {
    const message = { payload, recipients: [recipient], correlationId: recipient, ...fields };
    return this.#call('enqueue', message, options);
  }

  listen(subscribers: string[], waitMs: number) {
    return this.#call('listen', subscribers, waitMs);
  }

  /** Resolves with the payload, or undefined if there is no message. */
  dequeue(subscriber: string, options: SharedDequeueOptions = {}) {
    return this.#call('dequeue', subscriber, { visibility: 'immediate', ...options });
  }

  commit() {
    return this.#call('commit');
  }

  rollback() {
    return this.#call('rollback');
  }

  close() {
    return this.#call('close');
  }

  terminate() {
    return this.#worker.terminate();
  }
}

export function statisticsOf(shared: SharedQueue, { id }: SessionThread): ThreadSessionStatistics {
  return shared.statistics().sessions.find(({ session }) => session === id)!;
}

/** The counts of locks, pins, latch gets and mutex gets, as the document lists them. */
export function countsOf(shared: SharedQueue, thread: SessionThread) {
  const { locks, pins, latch, mutex } = statisticsOf(shared, thread);
  return { lock: locks, pin: pins, latch: latch.gets, mutex: mutex.gets };
}

export const readyOf = (shared: SharedQueue) =>
  Object.fromEntries(shared.statistics().subscribers.map(({ name, ready }) => [name, ready]));

export async function whenIn(
  shared: SharedQueue,
  thread: SessionThread,
  state: ThreadSessionStatistics['state'],
): Promise<void> {
  await expect.poll(() => statisticsOf(shared, thread).state, { interval: 5 }).toBe(state);
}

/** Resolves when the session was woken falsely `times` times and is listening again. */
export async function whenFalselyWoken(
  shared: SharedQueue,
  thread: SessionThread,
  times: number,
): Promise<void> {
  await expect
    .poll(
      () => {
        const { falseWakeUps, state } = statisticsOf(shared, thread);
        return { falseWakeUps, state };
      },
      { timeout: 30_000, interval: 5 },
    )
    .toEqual({ falseWakeUps: times, state: 'listening' });
}
