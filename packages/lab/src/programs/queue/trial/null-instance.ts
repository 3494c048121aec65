/**
 * An instance that only keeps messages in order. The sessions of a trial that run on it cost what the load generator
 * itself costs.
 */
import { type Message, type Session, type SessionTime, WaitRecorder } from '@shardlab/engine';
import type { Clock } from '../../../meters/clock.ts';
import type { Host } from './host.ts';

export class NullInstance {
  readonly id = 1;
  readonly waits: WaitRecorder;
  readonly #messages: Buffer[] = [];
  #first = 0;
  /** Called at each commit that enqueued, with the number of messages in the queue. */
  onCommit: (messages: number) => void = () => undefined;

  constructor(clock: Clock) {
    this.waits = new WaitRecorder({ clock: { monotonicMs: clock } });
  }

  /** Implements the part of a host that opens sessions and counts ready messages; nothing else. */
  static asHost(instance: NullInstance): Host {
    return instance as unknown as Host;
  }

  async waitingCount(): Promise<number> {
    return this.#messages.length - this.#first;
  }

  readonly eventOfCalls = undefined;

  timeOf(session: Session): SessionTime {
    return session.time!;
  }

  writerCpuUs(): number {
    return 0;
  }

  shards(): [] {
    return [];
  }

  syncs(): number {
    return 0;
  }

  openSession(): Session {
    let staged: Buffer[] = [];
    const time = this.waits.openSession();
    const session: Partial<Session> = {
      time,
      enqueue: (_, { payload }) => void staged.push(payload as Buffer),
      dequeue: async (_, options) => {
        time.answer();
        return this.#take(options?.max ?? 1);
      },
      commit: async () => {
        this.#messages.push(...staged);
        const any = staged.length > 0;
        staged = [];
        if (any) this.onCommit(this.#messages.length);
        time.answer();
        return { ids: [], results: [], replayed: false };
      },
      close: async () => time.close(),
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
