/**
 * An instance that does nothing but keep what it is given, in order: the sessions of a trial run on it cost what the
 * load generator itself costs.
 */
import { type Message, type Session, WaitRecorder } from '@shardlab/engine';
import type { Host } from '../trial/host.ts';

export class NullInstance {
  readonly id = 1;
  readonly waits = new WaitRecorder();
  readonly #messages: Buffer[] = [];
  #first = 0;
  /** Called at each commit that put something in, with how many there are. */
  onCommit: (messages: number) => void = () => undefined;

  /** As a host, for code that opens sessions and looks at what waits; anything else is not there. */
  static asHost(instance: NullInstance): Host {
    return instance as unknown as Host;
  }

  async waiting(): Promise<number> {
    return this.#messages.length - this.#first;
  }

  shards(): [] {
    return [];
  }

  openSession(): Session {
    let staged: Buffer[] = [];
    const session: Partial<Session> = {
      enqueue: (_, { payload }) => void staged.push(payload as Buffer),
      dequeue: async (_, options) => this.#take(options?.max ?? 1),
      commit: async () => {
        this.#messages.push(...staged);
        const any = staged.length > 0;
        staged = [];
        if (any) this.onCommit(this.#messages.length);
        return { ids: [], results: [] };
      },
      close: async () => undefined,
    };
    return session as Session;
  }

  #take(max: number): Message[] {
    const taken: Message[] = [];
    while (taken.length < max && this.#first < this.#messages.length) {
      const payload = this.#messages[this.#first]!;
      this.#first += 1;
      const message = { id: '', payload, enqueuedAtMs: 0, deliveryCount: 1, receipt: '' };
      taken.push(message as unknown as Message);
    }
    return taken;
  }
}
