/**
 * A consumer against a model: one queue with one enqueuer, so that its messages have one order. In any mode, with any pipeline and
 * however it ends, the consumer is given the messages in that order, beginning with the first one that is not consumed.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AckMode, ClientSession, Consumer, Instance, Message, RemoteInstance } from '../../src/index.ts';
import { connect, QueueError } from '../../src/index.ts';
import { openTestInstance } from '../folder.ts';
import { isTorture } from '../random.ts';
import { serve } from './serving.ts';
import { makeUnreliableLink, type UnreliableLink } from './unreliable-link.ts';

type Command =
  | { do: 'enqueue'; count: number }
  | { do: 'receive'; max: number }
  | { do: 'consume' | 'return' | 'reopen' | 'cut' };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('enqueue' as const), count: fc.integer({ min: 1, max: 20 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('receive' as const), max: fc.integer({ min: 1, max: 8 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('consume' as const, 'return' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reopen' as const, 'cut' as const) }) },
);

const setting = fc.record({
  ackMode: fc.constantFrom<AckMode>('auto', 'client', 'dups-ok', 'transacted'),
  prefetch: fc.boolean(),
  messagesMaximum: fc.integer({ min: 1, max: 12 }),
  fair: fc.boolean(),
  durability: fc.constantFrom('durable' as const, 'memory' as const),
});
type Setting = typeof setting extends fc.Arbitrary<infer T> ? T : never;

/** Codes with which a transaction or an acknowledgement ends if its connection is lost. */
const lossCodes = ['TX_NOT_COMMITTED', 'RECEIPT_STALE', 'COMMIT_OUTCOME_UNKNOWN', 'INSTANCE_UNREACHABLE'];

class Run {
  readonly #instance: Instance;
  readonly #queue: string;
  readonly #session: ClientSession;
  readonly #setting: Setting;
  #consumer!: Consumer;
  enqueued = 0;
  /** All messages before this one are consumed. Those from this one up to `next` were given to the consumer and may be consumed. */
  #consumedAtLeast = 0;
  #next = 0;
  /** Set after a lost connection: until the next message it is unknown which acknowledgements arrived. */
  #isUncertain = false;
  /** Set if the next acknowledgement may report that its messages were lost with a connection. */
  #mayBeStale = false;
  /** How often each message was given, and whether further deliveries may have been counted on a lost connection. */
  readonly #given: number[] = [];
  readonly #mayCountMore: boolean[] = [];

  constructor(instance: Instance, session: ClientSession, queue: string, setting: Setting) {
    this.#instance = instance;
    this.#session = session;
    this.#queue = queue;
    this.#setting = setting;
  }

  async open(): Promise<void> {
    const { durability: _, ...options } = this.#setting;
    this.#consumer = await this.#session.openConsumer(this.#queue, options);
  }

  async enqueue(count: number): Promise<void> {
    const session = this.#instance.openSession();
    for (let i = 0; i < count; i += 1) {
      session.enqueue(this.#queue, { payload: String(this.enqueued) });
      this.#given[this.enqueued] = 0;
      // The instance may push the message to a lost connection, if it has not noticed the loss yet.
      this.#mayCountMore[this.enqueued] = this.#isUncertain;
      this.enqueued += 1;
    }
    await session.commit();
    await session.close();
  }

  async receive(max: number): Promise<void> {
    const waitMs = this.#next < this.enqueued && !this.#isUncertain ? 10_000 : 0;
    const messages = await this.#ofLostConnection(() => this.#consumer.receiveBatch({ max, waitMs }));
    for (const message of messages ?? []) this.#check(message);
  }

  #check(message: Message): void {
    const index = Number(message.payload);
    if (this.#isUncertain) {
      expect(index).toBeGreaterThanOrEqual(this.#consumedAtLeast);
      expect(index).toBeLessThanOrEqual(this.#next);
      this.#isUncertain = false;
    } else expect(index).toBe(this.#next);
    this.#next = index + 1;
    this.#given[index]! += 1;
    if (this.#mayCountMore[index]) expect(message.deliveryCount).toBeGreaterThanOrEqual(this.#given[index]!);
    else expect(message.deliveryCount).toBe(this.#given[index]);
  }

  get #acknowledgesItself(): boolean {
    return this.#setting.ackMode === 'auto' || this.#setting.ackMode === 'dups-ok';
  }

  async consume(): Promise<void> {
    if (this.#acknowledgesItself) return;
    const end = this.#next;
    const isTransacted = this.#setting.ackMode === 'transacted';
    const consumed = async () => {
      if (isTransacted) await this.#session.commit();
      else await this.#consumer.acknowledge();
      return true;
    };
    const wasStale = this.#mayBeStale;
    const done =
      (await this.#ofLostConnection(consumed)) ??
      (wasStale ? await this.#ofLostConnection(consumed) : undefined);
    if (done === true && !this.#isUncertain) this.#consumedAtLeast = end;
  }

  /** Returns the messages that were given and not consumed, so that they are given again. */
  async return(): Promise<void> {
    const returned = await this.#ofLostConnection(async () => {
      if (this.#setting.ackMode === 'transacted') await this.#session.rollback();
      else await this.#consumer.recover();
      return true;
    });
    if (returned === true && !this.#isUncertain && !this.#acknowledgesItself)
      this.#next = this.#consumedAtLeast;
    else if (this.#acknowledgesItself) this.#isUncertain = true; // A `dups-ok` consumer may not have acknowledged all of them.
  }

  async reopen(): Promise<void> {
    await this.#ofLostConnection(() => this.#consumer.close());
    if (this.#setting.ackMode === 'transacted') await this.#ofLostConnection(() => this.#session.rollback());
    if (this.#acknowledgesItself) this.#isUncertain = true;
    else if (!this.#isUncertain) this.#next = this.#consumedAtLeast;
    await this.#ofLostConnection(() => this.open());
    if (this.#isUncertain) await this.#ofLostConnection(() => this.#consumer.close().then(() => this.open()));
  }

  async cut(link: UnreliableLink, client: RemoteInstance): Promise<void> {
    link.cut();
    await client.probe().catch(() => undefined); // The probe is answered over the next connection, or fails with this one.
    this.#onLost();
  }

  #onLost(): void {
    this.#isUncertain = true;
    this.#mayBeStale = this.#setting.ackMode === 'client';
    // Messages on their way to the consumer count as delivered.
    for (let index = this.#consumedAtLeast; index < this.enqueued; index += 1)
      this.#mayCountMore[index] = true;
  }

  /** Makes a call; resolves with undefined if it failed because of a lost connection. */
  async #ofLostConnection<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof QueueError) || !lossCodes.includes(error.code)) throw error;
      expect(this.#isUncertain || this.#mayBeStale).toBe(true); // The call may fail for no other reason.
      this.#mayBeStale = false;
      return undefined;
    }
  }

  /** Consumes the remaining messages, and expects that none is lost. */
  async drain(): Promise<void> {
    while (this.#next < this.enqueued || this.#isUncertain) {
      if (this.#isUncertain && this.#consumedAtLeast === this.enqueued) break;
      const before = this.#next;
      await this.receive(10);
      const { ready, held } = this.#instance.queue(this.#queue);
      if (before === this.#next && ready + held === 0) break;
    }
    await this.consume();
    await this.#consumer.close();
    await expect.poll(() => this.#instance.queue(this.#queue)).toMatchObject({ ready: 0, held: 0 });
    expect(this.#instance.queue(this.#queue).consumed).toBe(this.enqueued);
  }
}

it('a consumer is given all messages in their order, each until it is consumed', {
  timeout: 120_000,
}, async () => {
  const instance = await openTestInstance();
  const { path } = await serve(instance);
  const link = await makeUnreliableLink(path);
  let queues = 0;
  await fc.assert(
    fc.asyncProperty(
      setting,
      fc.array(command, { minLength: 5, maxLength: 25 }),
      async (options, commands) => {
        queues += 1;
        const queue = `q${queues}`;
        await instance.createQueue({ name: queue, durability: options.durability, attemptsMax: null });
        const client = await connect({ path: link.path });
        const run = new Run(instance, client.openSession(), queue, options);
        try {
          await run.open();
          for (const each of commands) {
            if (each.do === 'enqueue') await run.enqueue(each.count);
            else if (each.do === 'receive') await run.receive(each.max);
            else if (each.do === 'cut') await run.cut(link, client);
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
