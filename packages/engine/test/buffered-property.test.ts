/** Random enqueues, dequeues, holds and refusals on a buffered queue, by several sessions, against a small model. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Instance, type Message, openInstance, QueueError, type Session } from '../src/index.ts';
import { makeFolder } from './folder.ts';
import { isTorture } from './random.ts';

const sessions = 3;
const session = fc.nat(sessions - 1);
const few = fc.integer({ min: 1, max: 4 });

const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('enqueue' as const), session, count: few }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('dequeue' as const), session, count: few }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('receive' as const), session, count: few }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release' as const), session, count: few }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('acknowledge' as const), session, count: few }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), session, count: few }) },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** What the clients know: the accepted messages, which of them are consumed, and the open holds. */
class Clients {
  readonly accepted = new Set<string>();
  readonly consumed = new Set<string>();
  readonly holds: Message[] = [];
  refused = 0;
  readonly #instance: Instance;
  readonly #sessions: Session[];
  readonly #messagesMax: number;
  readonly #lastFirstDelivery = new Map<string, number>();
  #nextNumber = 0;

  constructor(instance: Instance, messagesMax: number) {
    this.#instance = instance;
    this.#sessions = Array.from({ length: sessions }, () => instance.openSession());
    this.#messagesMax = messagesMax;
  }

  get undelivered(): number {
    return this.accepted.size - this.consumed.size;
  }

  async run(step: Command): Promise<void> {
    if (step.kind === 'enqueue') await this.#enqueue(step.session, step.count);
    else if (step.kind === 'dequeue')
      this.#consume(await this.#of(step).dequeueNow('b', { max: step.count }));
    else if (step.kind === 'wait') await this.#waitTogether(step.count);
    else if (step.kind === 'receive') {
      const received = await this.#of(step).receive('b', { max: step.count, holdMs: 60_000 });
      for (const message of received) this.#deliver(message);
      this.holds.push(...received);
    } else {
      const ended = this.holds.splice(0, step.count);
      const receipts = ended.map(({ receipt }) => receipt);
      if (ended.length === 0) return;
      if (step.kind === 'release') await this.#of(step).release('b', receipts);
      else {
        this.#of(step).acknowledge('b', receipts);
        await this.#of(step).commit();
        for (const message of ended) this.#markConsumed(message);
      }
    }
  }

  #of({ session }: Command): Session {
    return this.#sessions[session]!;
  }

  async #enqueue(index: number, count: number): Promise<void> {
    const payloads = Array.from({ length: count }, () => `${index}/${this.#nextNumber++}`);
    const room = this.#messagesMax - this.undelivered;
    const outcome = await this.#sessions[index]!.enqueueNow(
      'b',
      ...payloads.map((payload) => ({ payload })),
    ).then(
      () => 'accepted',
      (error: unknown) => (error instanceof QueueError ? error.code : error),
    );
    const refusal = count > this.#messagesMax ? 'TX_TOO_LARGE' : 'ENQUEUE_RATE_TOO_HIGH';
    expect(outcome).toBe(count <= room ? 'accepted' : refusal);
    if (outcome === 'accepted') for (const payload of payloads) this.accepted.add(payload);
    else if (refusal === 'ENQUEUE_RATE_TOO_HIGH') this.refused += count;
  }

  /** Several consumers wait at once while messages are enqueued. */
  async #waitTogether(count: number): Promise<void> {
    const stop = new AbortController();
    const waiting = this.#sessions
      .slice(1)
      .map((each) => each.dequeueNow('b', { max: count, waitMs: 60_000, signal: stop.signal }));
    await this.#enqueue(0, count);
    stop.abort();
    for (const messages of await Promise.all(waiting)) this.#consume(messages);
  }

  #consume(messages: readonly Message[]): void {
    for (const message of messages) {
      this.#deliver(message);
      this.#markConsumed(message);
    }
  }

  /** First deliveries of one session's messages come in the order of its enqueues. */
  #deliver(message: Message): void {
    const [enqueuer, number] = message.payload.toString().split('/') as [string, string];
    expect(this.accepted).toContain(message.payload.toString());
    if (message.deliveryCount > 1) return;
    expect(Number(number)).toBeGreaterThan(this.#lastFirstDelivery.get(enqueuer) ?? -1);
    this.#lastFirstDelivery.set(enqueuer, Number(number));
  }

  #markConsumed(message: Message): void {
    const payload = message.payload.toString();
    expect(this.consumed).not.toContain(payload);
    this.consumed.add(payload);
  }

  async drain(): Promise<void> {
    const receipts = this.holds.splice(0).map(({ receipt }) => receipt);
    if (receipts.length > 0) await this.#sessions[0]!.release('b', receipts);
    for (;;) {
      const messages = await this.#sessions[0]!.dequeueNow('b', { max: 7 });
      if (messages.length === 0) return;
      this.#consume(messages);
    }
  }

  assertCounts(): void {
    const { enqueued, consumed, ready, held, refused } = this.#instance.queue('b');
    const depth = this.undelivered;
    expect({ enqueued, consumed, ready: ready + held, held, refused }).toEqual({
      enqueued: this.accepted.size,
      consumed: this.consumed.size,
      ready: depth,
      held: this.holds.length,
      refused: this.refused,
    });
    expect(depth).toBeLessThanOrEqual(this.#messagesMax);
  }
}

it('delivers every accepted message once, each session in order, and never has more than its threshold', async () => {
  const instance = await openInstance({ dir: makeFolder(), sampleIntervalMs: 3_600_000 });
  const setup = fc.record({
    messagesMax: fc.integer({ min: 1, max: 12 }),
    shards: fc.integer({ min: 1, max: 3 }),
    steps: fc.array(command, { minLength: 1, maxLength: 60 }),
  });
  try {
    await fc.assert(
      fc.asyncProperty(setup, async ({ messagesMax, shards, steps }) => {
        await instance.createQueue({
          name: 'b',
          durability: 'memory',
          visibility: 'immediate',
          messagesMax,
          shards,
        });
        const clients = new Clients(instance, messagesMax);
        try {
          for (const step of steps) {
            await clients.run(step);
            clients.assertCounts();
          }
          await clients.drain();
          clients.assertCounts();
          expect(clients.consumed).toEqual(clients.accepted);
        } finally {
          await instance.dropQueue('b');
        }
      }),
      { numRuns: isTorture ? 300 : 50 },
    );
  } finally {
    await instance.close();
  }
});
