/** Producers and consumers that use a queue by its name, repeat retryable transactions and record what they did. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Instance, QueueError, type Session } from '../../src/index.ts';

/**
 * `put`: the enqueue was acknowledged. `taking`: delivered, and about to be committed. `took`: the consumption was acknowledged.
 * Commits that were under way when a process was killed may have taken effect or not.
 */
export type Note = (what: 'put' | 'taking' | 'took', payload: string) => void;

export interface LoadOptions {
  instance: Instance;
  queue: string;
  /** Prefix that makes payloads unique over all processes. */
  name: string;
  note: Note;
}

/** Pause of a producer between two transactions, so that a conversion under load gets CPU and its queue drains soon. */
const pauseMs = 2;

export class QueueLoad {
  readonly #options: LoadOptions;
  readonly #producers: Promise<void>[];
  readonly #consumers: Promise<void>[];
  #producing = true;
  #consuming = true;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#producers = ['a', 'b'].map((producer) => this.#produce(producer));
    this.#consumers = [1, 2].map(() => this.#consume());
  }

  async #produce(producer: string): Promise<void> {
    const { instance, queue, name, note } = this.#options;
    const session = instance.openSession();
    for (let number = 1; this.#producing; number += 1) {
      const payload = `${name}.${producer}.${number}`;
      await untilDone(session, async () => {
        session.enqueue(queue, { payload });
        await session.commit();
      });
      note('put', payload);
      await pause(pauseMs);
    }
    await session.close();
  }

  async #consume(): Promise<void> {
    const { instance, queue, note } = this.#options;
    const session = instance.openSession();
    while (this.#consuming) {
      await untilDone(session, async () => {
        const messages = await session.dequeue(queue, { max: 10, waitMs: 20 });
        const payloads = messages.map(({ payload }) => payload.toString());
        for (const payload of payloads) note('taking', payload);
        await session.commit();
        for (const payload of payloads) note('took', payload);
      });
    }
    await session.close();
  }

  /** Stops the producers. */
  async endProducers(): Promise<void> {
    this.#producing = false;
    await Promise.all(this.#producers);
  }

  /** Resolves when all messages of this instance are consumed and the consumers have ended. */
  async end(): Promise<void> {
    const { instance, queue } = this.#options;
    for (;;) {
      const { ready, held } = instance.queue(queue);
      if (ready + held === 0) break;
      await pause(5);
    }
    this.#consuming = false;
    await Promise.all(this.#consumers);
  }
}

/** Repeats the work as a client does, while its errors are retryable. */
async function untilDone(session: Session, work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof QueueError) || !error.retryable) throw error;
      await session.rollback();
      await pause(1);
    }
  }
}
