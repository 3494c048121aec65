/**
 * A session that prefetches, against a model: one queue with one enqueuer, so that its messages have one order, and another session that
 * dequeues too. However a transaction ends, a message is held by one session at a time, consumed once, and delivered in order.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ClientSession, Instance, Message, RemoteInstance } from '../../src/index.ts';
import { connect, QueueError } from '../../src/index.ts';
import { openTestInstance } from '../folder.ts';
import { isTorture } from '../random.ts';
import { serve } from './serving.ts';
import { makeUnreliableLink, type UnreliableLink } from './unreliable-link.ts';

type Command =
  | { do: 'enqueue'; count: number }
  | { do: 'dequeue' | 'other'; max: number }
  | { do: 'commit' | 'rollback' | 'reopen' | 'cut' };

const withCount = (name: 'enqueue', max: number) =>
  fc.record({ do: fc.constant(name), count: fc.integer({ min: 1, max }) });
const withMax = (name: 'dequeue' | 'other', max: number) =>
  fc.record({ do: fc.constant(name), max: fc.integer({ min: 1, max }) });

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: withCount('enqueue', 20) },
  { weight: 6, arbitrary: withMax('dequeue', 8) },
  { weight: 1, arbitrary: withMax('other', 4) },
  { weight: 5, arbitrary: fc.constant({ do: 'commit' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'rollback' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reopen' as const, 'cut' as const) }) },
);

const setting = fc.record({
  prefetch: fc.integer({ min: 1, max: 30 }),
  durability: fc.constantFrom('durable' as const, 'memory' as const),
});

interface Modelled {
  state: 'ready' | 'taken' | 'consumed';
  given: number;
  /** Whether deliveries that no consumer saw may have been counted on a lost connection. */
  mayCountMore: boolean;
}

class Run {
  readonly #instance: Instance;
  readonly #client: RemoteInstance;
  readonly #queue: string;
  readonly #prefetch: number;
  readonly #messages: Modelled[] = [];
  #session: ClientSession;
  /** The last message that the session was given. Later ones follow until messages are returned. */
  #last = -1;
  /** Set once all messages of the session were returned: the next one is the oldest message. */
  #isFromOldest = true;
  /** Set if the connection was lost while a transaction was open. */
  #isLost = false;

  constructor(instance: Instance, client: RemoteInstance, queue: string, prefetch: number) {
    this.#instance = instance;
    this.#client = client;
    this.#queue = queue;
    this.#prefetch = prefetch;
    this.#session = client.openSession({ prefetch });
  }

  async enqueue(count: number): Promise<void> {
    const session = this.#instance.openSession();
    for (let i = 0; i < count; i += 1) {
      session.enqueue(this.#queue, { payload: String(this.#messages.length) });
      this.#messages.push({ state: 'ready', given: 0, mayCountMore: false });
    }
    await session.commit();
    await session.close();
  }

  #give(message: Message): Modelled {
    const modelled = this.#messages[Number(message.payload)]!;
    expect(modelled.state).toBe('ready');
    modelled.given += 1;
    if (modelled.mayCountMore) expect(message.deliveryCount).toBeGreaterThanOrEqual(modelled.given);
    else expect(message.deliveryCount).toBe(modelled.given);
    return modelled;
  }

  async dequeue(max: number): Promise<void> {
    if (this.#isLost) {
      await this.#expectLost(() => this.#session.dequeue(this.#queue, { max }));
      return;
    }
    const messages = await this.#session.dequeue(this.#queue, { max });
    for (const message of messages) {
      const index = Number(message.payload);
      if (this.#isFromOldest)
        expect(index).toBe(this.#messages.findIndex(({ state }) => state !== 'consumed'));
      else expect(index).toBeGreaterThan(this.#last);
      this.#give(message).state = 'taken';
      this.#last = index;
      this.#isFromOldest = false;
    }
  }

  /** Another session dequeues ready messages and commits at once. */
  async other(max: number): Promise<void> {
    const session = this.#instance.openSession();
    for (const message of await session.dequeue(this.#queue, { max })) this.#give(message).state = 'consumed';
    await session.commit();
    await session.close();
  }

  #settle(state: 'ready' | 'consumed'): void {
    for (const message of this.#messages) if (message.state === 'taken') message.state = state;
    if (state === 'ready') this.#onReturned();
  }

  #onReturned(): void {
    this.#isFromOldest = true;
    this.#last = -1;
  }

  async commit(): Promise<void> {
    if (this.#isLost) await this.#expectLost(() => this.#session.commit());
    else {
      await this.#session.commit();
      this.#settle('consumed');
    }
  }

  async rollback(): Promise<void> {
    const hadMessages = this.#messages.some(({ state }) => state === 'taken');
    await this.#session.rollback();
    this.#isLost = false;
    if (hadMessages) this.#settle('ready');
  }

  async reopen(): Promise<void> {
    await this.#session.close();
    this.#isLost = false;
    this.#settle('ready');
    this.#session = this.#client.openSession({ prefetch: this.#prefetch });
  }

  async cut(link: UnreliableLink): Promise<void> {
    link.cut();
    await this.#client.probe().catch(() => undefined); // The probe is answered over the next connection, or fails with this one.
    this.#isLost ||= this.#messages.some(({ state }) => state === 'taken');
    for (const message of this.#messages) if (message.state !== 'consumed') message.mayCountMore = true;
    this.#settle('ready');
  }

  async #expectLost(call: () => Promise<unknown>): Promise<void> {
    const error = await call().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(QueueError);
    expect((error as QueueError).code).toBe('TX_NOT_COMMITTED');
    this.#isLost = false;
  }

  /** Consumes the remaining messages, and expects that none is lost. */
  async drain(): Promise<void> {
    await this.rollback();
    while (this.#messages.some(({ state }) => state !== 'consumed')) {
      const before = this.#messages.filter(({ state }) => state === 'consumed').length;
      await this.dequeue(10);
      await this.commit();
      expect(this.#messages.filter(({ state }) => state === 'consumed').length).toBeGreaterThan(before);
    }
    await this.#session.close();
    const consumed = this.#messages.length;
    expect(this.#instance.queue(this.#queue)).toMatchObject({ ready: 0, held: 0, consumed });
  }
}

it('a session that prefetches is given each message in order, and consumes each once', {
  timeout: 120_000,
}, async () => {
  const instance = await openTestInstance();
  const { path } = await serve(instance);
  const link = await makeUnreliableLink(path);
  let queues = 0;
  await fc.assert(
    fc.asyncProperty(
      setting,
      fc.array(command, { minLength: 5, maxLength: 30 }),
      async ({ prefetch, durability }, commands) => {
        queues += 1;
        const queue = `q${queues}`;
        await instance.createQueue({ name: queue, durability, attemptsMax: null });
        const client = await connect({ path: link.path });
        const run = new Run(instance, client, queue, prefetch);
        try {
          for (const each of commands) {
            if (each.do === 'enqueue') await run.enqueue(each.count);
            else if (each.do === 'dequeue') await run.dequeue(each.max);
            else if (each.do === 'other') await run.other(each.max);
            else if (each.do === 'cut') await run.cut(link);
            else await run[each.do]();
          }
          await run.drain();
        } finally {
          await client.close();
          await instance.dropQueue(queue);
        }
      },
    ),
    { numRuns: isTorture ? 120 : 20 },
  );
});
