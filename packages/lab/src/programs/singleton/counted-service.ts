/**
 * The service that the program `singleton` measures: a counter that starts with the document's value, 5, at each activation, or
 * with its stored value. A counter that stores its value answers an addition only once it is committed, because its process may
 * be killed right afterwards.
 *
 * While active it writes to the database again and again. Each write takes the next number after the stored one; once it is
 * acknowledged, the number, the epoch and the time are appended to `journal`. Two writers would show as a repeated number, two
 * active services as overlapping times. It stops when a write is refused, not when it is deactivated.
 */
import { appendFileSync } from 'node:fs';
import type { Json, ServiceContext, SingletonService } from '@shardlab/engine';

export interface CountedServiceOptions {
  journal: string;
  kept: boolean;
}

interface Kept {
  readonly value: number;
  readonly writes: number;
}

const startValue = 5;
/** Between two writes, milliseconds. */
const writeEveryMs = 5;

class CountedService implements SingletonService {
  readonly #options: CountedServiceOptions;
  #context!: ServiceContext;
  #value = startValue;
  /** Calls that are answered after the next commit. */
  #unanswered: PromiseWithResolvers<void>[] = [];

  constructor(options: CountedServiceOptions) {
    this.#options = options;
  }

  readonly calls = {
    get: (): Json => this.#value,
    add: async (by: Json): Promise<Json> => {
      this.#value += Number(by);
      if (this.#options.kept) await this.#committed();
      return this.#value;
    },
  };

  activate(context: ServiceContext): void {
    this.#context = context;
    const kept = context.state as Kept | undefined;
    this.#value = this.#options.kept && kept !== undefined ? kept.value : startValue;
    this.#note('active', 0);
    void this.#write();
  }

  deactivate(): void {
    this.#note('inactive', 0);
  }

  #committed(): Promise<void> {
    const answer = Promise.withResolvers<void>();
    this.#unanswered.push(answer);
    return answer.promise;
  }

  async #write(): Promise<void> {
    const context = this.#context;
    const session = context.openSession();
    let committing: PromiseWithResolvers<void>[] = [];
    try {
      for (;;) {
        const writes = ((context.state as Kept | undefined)?.writes ?? 0) + 1;
        committing = this.#unanswered.splice(0);
        session.writeState({ value: this.#value, writes });
        await session.commit();
        for (const { resolve } of committing) resolve();
        this.#note('wrote', writes);
        await new Promise((resolve) => setTimeout(resolve, writeEveryMs));
      }
    } catch (error) {
      this.#note('refused', 0);
      for (const { reject } of [...committing, ...this.#unanswered]) reject(error);
    }
  }

  #note(what: string, number: number): void {
    const { name, epoch } = this.#context;
    appendFileSync(this.#options.journal, `${what} ${name} ${epoch} ${number} ${Date.now()}\n`);
  }
}

export function createService(options: Json): SingletonService {
  return new CountedService(options as unknown as CountedServiceOptions);
}
