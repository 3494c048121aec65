/** Two served instances: messages move in order and once to where consumers wait, and return when no consumer waits there. */
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Instance, openInstance, type QueueSpec, serveInstance } from '../src/index.ts';
import { makeFolder, text } from './folder.ts';

interface Served {
  instance: Instance;
  close(): Promise<void>;
}

async function serve(dir: string, id: number, forwardIdleMs?: number): Promise<Served> {
  const instance = await openInstance({ dir, instance: id, partitionMessagesMax: 64 });
  const served = await serveInstance(instance, forwardIdleMs === undefined ? {} : { forwardIdleMs });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= served.close().then(() => instance.close());
    return closing;
  };
  onTestFinished(close);
  return { instance, close };
}

async function pair(
  spec: Partial<QueueSpec> = {},
  forwardIdleMs?: number,
): Promise<{ dir: string; owner: Served; other: Served }> {
  const dir = makeFolder();
  const owner = await serve(dir, 1, forwardIdleMs);
  await owner.instance.createQueue({ name: 'q', ...spec });
  const other = await serve(dir, 2, forwardIdleMs);
  return { dir, owner, other };
}

async function enqueue(instance: Instance, payloads: readonly string[]): Promise<string[]> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('q', { payload });
  const { ids } = await session.commit();
  await session.close();
  return ids;
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));

/** Dequeues and commits until it has `count` messages. */
async function take(instance: Instance, count: number, max = 10): Promise<string[]> {
  const session = instance.openSession();
  const taken: string[] = [];
  while (taken.length < count) {
    const messages = await session.dequeue('q', { max: Math.min(max, count - taken.length), waitMs: 10_000 });
    expect(messages.length, 'a message within 10 s').toBeGreaterThan(0);
    taken.push(...text(messages));
    await session.commit();
  }
  await session.close();
  return taken;
}

describe('two instances', () => {
  it('deliver messages of one instance on the other, in order and with the same ids', async () => {
    const { owner, other } = await pair();
    const session = other.instance.openSession();
    const waiting = session.dequeue('q', { max: 2, waitMs: 10_000 });
    const ids = await enqueue(owner.instance, ['a', 'b']);
    const messages = await waiting;
    expect(text(messages)).toEqual(['a', 'b']);
    expect(messages.map(({ id, deliveryCount }) => [id, deliveryCount])).toEqual(ids.map((id) => [id, 1]));
    await session.commit();
    await expect
      .poll(() => owner.instance.queue('q'))
      .toMatchObject({ enqueued: 2, consumed: 0, forwardedOut: 2, ready: 0 });
    expect(other.instance.queue('q')).toMatchObject({ enqueued: 0, consumed: 2, forwardedIn: 2, ready: 0 });
    // of the sessions: what moved them is not counted
    expect([owner, other].map(({ instance }) => instance.stats().commits)).toEqual([1, 1]);
  });

  it('move a backlog without a local consumer', async () => {
    const { owner, other } = await pair({ shards: 1 });
    await enqueue(owner.instance, numbers(2_000));
    expect(await take(other.instance, 2_000)).toEqual(numbers(2_000));
    await expect
      .poll(() => owner.instance.queue('q'))
      .toMatchObject({ ready: 0, held: 0, forwardedOut: 2_000 });
  });

  it('do not forward a streamed payload, nor the messages behind it, until the owner has delivered it', async () => {
    const { owner, other } = await pair({ shards: 1 });
    const session = owner.instance.openSession();
    for (const payload of ['a', 'b']) session.enqueue('q', { payload });
    const large = Buffer.alloc(1024 * 1024, 'x');
    await session.enqueueStream('q', { payload: Readable.from([large]) });
    session.enqueue('q', { payload: 'c' });
    await session.commit();
    expect(await take(other.instance, 2)).toEqual(['a', 'b']);
    await expect.poll(() => owner.instance.queue('q')).toMatchObject({ ready: 2, forwardedOut: 2 });
    const [message] = await session.dequeue('q', { waitMs: 10_000 });
    expect(message).toMatchObject({ streamed: true, payloadBytes: large.length, deliveryCount: 1 });
    let bytes = 0;
    for await (const piece of message!.payloadStream()) bytes += piece.length;
    expect(bytes).toBe(large.length);
    await session.commit();
    expect(await take(other.instance, 1)).toEqual(['c']);
  });

  it('return forwarded messages without a consumer to their owner, which delivers them before later ones', async () => {
    const { owner, other } = await pair();
    await enqueue(owner.instance, numbers(100));
    expect(await take(other.instance, 3, 1)).toEqual(numbers(3));
    expect(other.instance.queue('q').ready).toBeGreaterThan(0);
    expect(await take(owner.instance, 97)).toEqual(numbers(100).slice(3));
    expect(other.instance.queue('q').ready).toBe(0);
  });

  it.each([
    ['in one batch', ''],
    ['in several batches', '.'.repeat(100_000)],
  ])('keep the order of messages that are forwarded and return %s, repeatedly', async (_, padding) => {
    const { owner, other } = await pair({}, 20);
    const payloads = numbers(100).map((number) => `${number}${padding}`);
    await enqueue(owner.instance, payloads);
    const taken = await take(other.instance, 20, 1);
    for (let round = 0; round < 5; round += 1) {
      taken.push(...(await take(owner.instance, 4)));
      taken.push(...(await take(other.instance, 4, 1)));
    }
    taken.push(...(await take(owner.instance, 40)));
    expect(taken.map((payload) => payload.slice(0, 2))).toEqual(
      payloads.map((payload) => payload.slice(0, 2)),
    );
    await expect.poll(() => owner.instance.queue('q')).toMatchObject({ enqueued: 100, ready: 0 });
  });

  it('return messages at once when a consumer waits at their owner', async () => {
    const { owner, other } = await pair();
    await enqueue(owner.instance, numbers(20));
    const slow = other.instance.openSession();
    expect(text(await slow.dequeue('q', { waitMs: 10_000 }))).toEqual(['0']);
    const startedAt = performance.now();
    expect(await take(owner.instance, 19)).toEqual(numbers(20).slice(1));
    expect(performance.now() - startedAt).toBeLessThan(900);
    await slow.commit();
    expect(other.instance.queue('q')).toMatchObject({ consumed: 1, held: 0, ready: 0 });
  });

  it('continue the delivery count of a message on whichever instance it is delivered', async () => {
    const { dir, owner, other } = await pair();
    await enqueue(owner.instance, ['a', 'b']);
    const session = other.instance.openSession();
    for (const times of [1, 2]) {
      const messages = await session.dequeue('q', { max: 2, waitMs: 10_000 });
      expect(messages.map(({ deliveryCount }) => deliveryCount)).toEqual([times, times]);
      await session.rollback();
    }
    await session.close();
    const atOwner = owner.instance.openSession();
    const messages = await atOwner.dequeue('q', { max: 2, waitMs: 10_000 });
    expect(messages.map((message) => [...text([message]), message.deliveryCount])).toEqual([
      ['a', 3],
      ['b', 3],
    ]);
    await atOwner.rollback();
    await owner.close();
    const reopened = (await serve(dir, 1)).instance.openSession();
    const [first] = await reopened.dequeue('q', { max: 1, waitMs: 10_000 });
    expect(first!.deliveryCount).toBe(4);
  });

  it('deliver messages past ones that are held at the other instance, but not past undelivered ones there', async () => {
    const { owner, other } = await pair();
    await enqueue(owner.instance, ['a', 'b']);
    const remote = other.instance.openSession();
    expect(text(await remote.dequeue('q', { max: 2, waitMs: 10_000 }))).toEqual(['a', 'b']);
    await enqueue(owner.instance, ['c']);
    expect(await take(owner.instance, 1)).toEqual(['c']);
    await remote.commit();
  });

  it('move the more urgent messages first', async () => {
    const { owner, other } = await pair({ priorities: true });
    const session = owner.instance.openSession();
    for (const priority of [0, 9, 4]) session.enqueue('q', { payload: String(priority), priority });
    await session.commit();
    expect(await take(other.instance, 3, 1)).toEqual(['9', '4', '0']);
  });

  it('move a delayed message once it is due, and keep its id', async () => {
    const { owner, other } = await pair();
    const session = owner.instance.openSession();
    session.enqueue('q', { payload: 'later', delayMs: 30 });
    const { ids } = await session.commit();
    const [message] = await other.instance.openSession().dequeue('q', { waitMs: 10_000 });
    expect(message!.id).toBe(ids[0]);
  });

  it('move a message that was delivered too often to the exception queue, wherever it is', async () => {
    const { owner, other } = await pair({ attemptsMax: 2 });
    await enqueue(owner.instance, ['poison', 'good']);
    const local = owner.instance.openSession();
    expect(text(await local.dequeue('q'))).toEqual(['poison']);
    await local.rollback();
    await local.close();
    const remote = other.instance.openSession();
    const [poison] = await remote.dequeue('q', { waitMs: 10_000 });
    expect(poison!.deliveryCount).toBe(2);
    await remote.rollback();
    expect(await take(other.instance, 1)).toEqual(['good']);
    const [moved] = await remote.dequeue('q.exceptions', { waitMs: 10_000 });
    expect(moved!.id).toBe(poison!.id);
  });

  it('serve waiting instances in turn, one at a time per shard', async () => {
    const { dir, owner, other } = await pair();
    const third = await serve(dir, 3);
    const taken: string[] = [];
    const consume = async ({ instance }: Served) => {
      const session = instance.openSession();
      while (taken.length < 400) {
        const messages = await session.dequeue('q', { max: 5, waitMs: 100 });
        taken.push(...text(messages));
        await session.commit();
      }
      await session.close();
    };
    const consumers = [other, third].map(consume);
    for (let i = 0; i < 40; i += 1) await enqueue(owner.instance, numbers(400).slice(i * 10, i * 10 + 10));
    await Promise.all(consumers);
    expect(taken).toEqual(numbers(400));
    expect(other.instance.queue('q').consumed + third.instance.queue('q').consumed).toBe(400);
  });

  it('forget a queue that is dropped while its messages are at another instance', async () => {
    const { owner, other } = await pair();
    await enqueue(owner.instance, numbers(50));
    expect(await take(other.instance, 1, 1)).toEqual(['0']);
    await owner.instance.dropQueue('q');
    await owner.instance.createQueue({ name: 'q' });
    await enqueue(owner.instance, ['new']);
    const session = other.instance.openSession();
    await expect.poll(() => session.dequeue('q', { waitMs: 100 }).then(text, () => [])).toEqual(['new']);
  });
});

describe('an instance', () => {
  it('ends a dequeue without messages if the queue does not forward', async () => {
    const { owner, other } = await pair({ forwarding: false });
    await enqueue(owner.instance, ['a']);
    expect(await other.instance.openSession().dequeue('q', { waitMs: 200 })).toEqual([]);
    expect(owner.instance.queue('q')).toMatchObject({ forwarding: false, ready: 1, forwardedOut: 0 });
  });

  it.each([{ type: 'topic' }, { durability: 'memory' }, { kind: 'unsharded' }] as const)(
    'refuses to create a forwarding queue of a kind that cannot forward: %o',
    async (spec) => {
      const { owner } = await pair();
      const create = (name: string, forwarding?: boolean) =>
        owner.instance.createQueue({ name, ...spec, ...(forwarding === undefined ? {} : { forwarding }) });
      await expect(create('one', true)).rejects.toMatchObject({ code: 'QUEUE_SPEC_INVALID' });
      expect(await create('two')).toMatchObject({ forwarding: false });
    },
  );

  it('delivers its own messages to its own consumers, even if others wait elsewhere', async () => {
    const { owner, other } = await pair();
    const stop = new AbortController();
    const remote = other.instance.openSession().dequeue('q', { waitMs: 60_000, signal: stop.signal });
    const session = owner.instance.openSession();
    for (const payload of numbers(50)) {
      const waiting = session.dequeue('q', { waitMs: 10_000 });
      await enqueue(owner.instance, [payload]);
      expect(text(await waiting)).toEqual([payload]);
      await session.commit();
    }
    stop.abort();
    expect(await remote).toEqual([]);
  });

  it('that is reopened knows which of its messages are elsewhere, and waits for them', async () => {
    const { dir, owner, other } = await pair();
    await enqueue(owner.instance, numbers(40));
    expect(await take(other.instance, 2, 1)).toEqual(numbers(2));
    await owner.close();
    const reopened = await serve(dir, 1);
    await enqueue(reopened.instance, ['last']);
    expect(await take(reopened.instance, 39)).toEqual([...numbers(40).slice(2), 'last']);
    await expect
      .poll(() => reopened.instance.queue('q'))
      .toMatchObject({ enqueued: 41, forwardedIn: expect.any(Number) });
    const { enqueued, forwardedIn, forwardedOut, consumed, ready, held } = reopened.instance.queue('q');
    expect(enqueued + forwardedIn).toBe(ready + held + consumed + forwardedOut);
  });

  it('that is reopened delivers the messages forwarded to it before the ones behind them', async () => {
    const { dir, owner, other } = await pair();
    await enqueue(owner.instance, numbers(40));
    expect(await take(other.instance, 2, 1)).toEqual(numbers(2));
    const forwarded = other.instance.queue('q').ready;
    expect(forwarded).toBeGreaterThan(0);
    await other.close();
    const reopened = await serve(dir, 2);
    expect(reopened.instance.queue('q')).toMatchObject({ ready: forwarded, enqueued: 0 });
    expect(await take(reopened.instance, 38)).toEqual(numbers(40).slice(2));
  });
});
