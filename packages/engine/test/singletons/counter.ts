/**
 * The example service of the document: a value that is 5 at the activation, and to which callers add. With `kept` it begins with the
 * value that was last committed. With `events` each activation and deactivation is appended to that file by one system call.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json, ServiceContext, SingletonService } from '../../src/api/service.ts';

export interface CounterOptions {
  kept?: boolean;
  events?: string;
}

class Counter implements SingletonService {
  readonly #options: CounterOptions;
  #context!: ServiceContext;
  #value = 0;
  #running = 0;

  constructor(options: CounterOptions) {
    this.#options = options;
  }

  #note(event: string): void {
    const { events } = this.#options;
    if (events !== undefined) appendFileSync(events, `${event} ${this.#context.epoch} ${process.pid}\n`);
  }

  activate(context: ServiceContext): void {
    this.#context = context;
    this.#note('activate');
    const kept = context.state as { value: number } | undefined;
    this.#value = this.#options.kept === true && kept !== undefined ? kept.value : 5;
  }

  deactivate(): void {
    this.#note('deactivate');
  }

  readonly calls = {
    get: (): Json => this.#value,
    where: (): Json => ({ pid: process.pid, epoch: this.#context.epoch }),
    add: async (by: Json): Promise<Json> => {
      this.#running += 1;
      if (this.#running > 1) throw new Error('two calls at once');
      try {
        const value = this.#value + Number(by);
        await pause(1); // If calls ran concurrently, a second one would now read the old value.
        if (this.#options.kept === true) await this.#keep(value);
        this.#value = value;
        return value;
      } finally {
        this.#running -= 1;
      }
    },
    /** Enqueues the value and stores it in one commit. */
    announce: async (queue: Json): Promise<Json> => {
      const session = this.#context.openSession();
      session.enqueue(String(queue), { payload: String(this.#value) });
      session.writeState({ value: this.#value, announced: true });
      await session.commit();
      await session.close();
      return this.#value;
    },
    fail: (): Json => {
      throw new Error('it cannot');
    },
    giveUp: (): Json => {
      this.#context.fail(new Error('it gave up'));
      return null;
    },
    tooLarge: (): Json => 'x'.repeat(300_000),
    never: (): Promise<Json> => new Promise(() => undefined),
  };

  async #keep(value: number): Promise<void> {
    const session = this.#context.openSession();
    session.writeState({ value });
    await session.commit();
    await session.close();
  }
}

export function createService(options: Json): SingletonService {
  return new Counter((options ?? {}) as CounterOptions);
}
