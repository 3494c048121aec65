/** Redelivery: attempts are counted, returned messages are delayed, and at last moved to the exception queue. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { type Instance, openInstance, type QueueKind, type QueueSpec } from '../src/index.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { whileLogFull } from './while-log-full.ts';

async function withQueue(spec: Partial<QueueSpec>, dir = makeFolder()): Promise<Instance> {
  const instance = await openTestInstance({ dir });
  await instance.createQueue({ name: 'orders', ...spec });
  return instance;
}

async function put(instance: Instance, ...payloads: string[]): Promise<string[]> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('orders', { payload, properties: { p: 'v' } });
  const { ids } = await session.commit();
  return ids;
}

const code = (value: string) => expect.objectContaining({ code: value });

describe('a returned message', () => {
  it('moves to the exception queue once, with the reason, when its attempts are used up', async () => {
    const instance = await withQueue({ attemptsMax: 2 });
    const [id] = await put(instance, 'poison', 'fine');
    const session = instance.openSession();
    for (const deliveryCount of [1, 2]) {
      const [poison] = await session.dequeue('orders');
      expect(poison).toMatchObject({ deliveryCount });
      expect(poison!.payload.toString()).toBe('poison');
      await session.rollback();
    }
    expect(text(await session.dequeue('orders', { max: 5 }))).toEqual(['fine']);
    await session.commit();
    const [moved] = await session.dequeue('orders.exceptions', { waitMs: 30_000 });
    expect(moved).toMatchObject({
      id,
      properties: {
        p: 'v',
        'exception-queue-of': 'orders',
        'exception-reason': 'delivered 2 times without being consumed',
      },
    });
    await session.commit();
    expect(await session.dequeue('orders.exceptions')).toEqual([]);
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 0, consumed: 2 });
  });

  it.each([undefined, 1])(
    'is counted, or moved, by no commit of a session (attemptsMax %s)',
    async (attemptsMax) => {
      const instance = await withQueue(attemptsMax === undefined ? {} : { attemptsMax });
      await put(instance, 'poison');
      const session = instance.openSession();
      await session.dequeue('orders');
      const { commits } = instance.stats();
      await session.rollback();
      await put(instance, 'behind that write');
      expect(instance.stats().commits).toBe(commits + 1);
    },
  );

  it('counts an attempt when its hold expires or its session is closed', async () => {
    const instance = await withQueue({ attemptsMax: 3 });
    await put(instance, 'poison');
    const [first, second] = [instance.openSession(), instance.openSession()];
    const [held] = await first.receive('orders', { holdMs: 20 });
    expect(held).toMatchObject({ deliveryCount: 1 });
    expect(await second.dequeue('orders', { waitMs: 30_000 })).toMatchObject([{ deliveryCount: 2 }]);
    await second.close();
    const [last] = await first.receive('orders', { waitMs: 30_000 });
    expect(last).toMatchObject({ deliveryCount: 3 });
    await first.release('orders', [last!.receipt]);
    expect(await first.dequeue('orders.exceptions', { waitMs: 30_000 })).toHaveLength(1);
  });

  it('stops crashing its consumer once its attempts are used up', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'orders', attemptsMax: 3, attemptsCounted: 'on-delivery' });
    await put(before, 'poison', 'fine');
    await before.close();
    const counts: number[] = [];
    for (;;) {
      const consumer = fork(new URL('./poisoned-consumer.ts', import.meta.url), [dir]);
      const answers: { payload: string; deliveryCount: number }[] = [];
      consumer.on('message', (answer) => answers.push(answer as (typeof answers)[number]));
      await once(consumer, 'exit');
      const answer = answers.at(-1)!;
      if (answer.payload === 'fine') break;
      counts.push(answer.deliveryCount);
    }
    expect(counts).toEqual([1, 2, 3]);
    const after = await openTestInstance({ dir });
    const [moved] = await after.openSession().dequeue('orders.exceptions', { waitMs: 30_000 });
    expect(moved!.payload.toString()).toBe('poison');
    expect(moved!.properties?.['exception-reason']).toBe('delivered 3 times without being consumed');
  }, 60_000);

  it.each<QueueKind>(['sharded', 'unsharded', 'unsharded-grouped'])(
    'of a %s queue is never counted less than its consumer was told, however its process is killed',
    async (kind) => {
      const dir = makeFolder();
      const before = await openInstance({ dir });
      await before.createQueue({ name: 'orders', kind, attemptsMax: null });
      await put(before, 'poison');
      await before.close();
      let told = 0;
      for (const returns of [1, 4, 9]) {
        const consumer = fork(new URL('./returning-consumer.ts', import.meta.url), [dir]);
        let left = returns;
        consumer.on('message', ({ deliveryCount }: { deliveryCount: number }) => {
          expect(deliveryCount).toBeGreaterThan(told);
          told = deliveryCount;
          left -= 1;
          if (left === 0) consumer.kill('SIGKILL'); // while it returns the message again
        });
        await once(consumer, 'exit');
      }
      const after = await openTestInstance({ dir });
      const [message] = await after.openSession().dequeue('orders', { waitMs: 30_000 });
      expect(message!.deliveryCount).toBeGreaterThan(told);
      expect(told).toBeGreaterThanOrEqual(14);
    },
    60_000,
  );

  it('is not delivered by a dequeue that could not store the attempt', async () => {
    const dir = makeFolder();
    const instance = await withQueue({ attemptsMax: 2, attemptsCounted: 'on-delivery' }, dir);
    await put(instance, 'a', 'b');
    const session = instance.openSession();
    await whileLogFull(async () => {
      await expect(session.dequeue('orders')).rejects.toThrow(code('STORAGE_FULL'));
      await expect(session.receive('orders')).rejects.toThrow(code('STORAGE_FULL'));
    });
    await session.commit(); // The transaction was given no message.
    expect(instance.queue('orders')).toMatchObject({ ready: 2, held: 0, consumed: 0 });
    const messages = await session.dequeue('orders', { max: 2 });
    expect(text(messages)).toEqual(['a', 'b']);
    expect(messages.map(({ deliveryCount }) => deliveryCount)).toEqual([1, 1]);
  });

  it('keeps its delivery count over a clean restart, even without an attempt limit', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'orders' });
    await put(before, 'a', 'b', 'c');
    const session = before.openSession();
    await session.dequeue('orders', { max: 2 });
    await session.rollback();
    await session.dequeue('orders', { max: 1 });
    await session.rollback();
    await before.close();
    const after = await openTestInstance({ dir });
    const messages = await after.openSession().dequeue('orders', { max: 3 });
    expect(messages.map((message) => message.deliveryCount)).toEqual([3, 2, 1]);
  });

  it('is delayed before it is delivered again', async () => {
    const instance = await withQueue({ retryDelayMs: 60 });
    await put(instance, 'a');
    const session = instance.openSession();
    await session.dequeue('orders');
    const releasedAt = performance.now();
    await session.rollback();
    expect(await session.dequeue('orders', { waitMs: 30_000 })).toMatchObject([{ deliveryCount: 2 }]);
    expect(performance.now() - releasedAt).toBeGreaterThanOrEqual(55);
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 1, delayed: 0 });
  });

  it('counts as delayed during its retry delay', async () => {
    const instance = await withQueue({ retryDelayMs: 60_000 });
    await put(instance, 'a');
    const session = instance.openSession();
    await session.dequeue('orders');
    await session.rollback();
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 0, delayed: 1 });
    const { messages } = await instance.browse('orders');
    expect(messages).toMatchObject([{ state: 'delayed', deliveryCount: 1 }]);
    expect(await session.dequeue('orders')).toEqual([]);
  });

  it('moves with the reason even if it already has the maximum number of properties', async () => {
    const instance = await withQueue({ attemptsMax: 1 });
    const session = instance.openSession();
    const p = 'x'.repeat(limits.propertiesBytesMax - '{"p":""}'.length);
    session.enqueue('orders', { payload: 'poison', properties: { p } });
    await session.commit();
    await session.dequeue('orders');
    await session.rollback();
    const [moved] = await session.dequeue('orders.exceptions', { waitMs: 30_000 });
    expect(moved!.properties).toMatchObject({ p, 'exception-queue-of': 'orders' });
  });

  it('is dropped if its subscriber was removed before it returned', async () => {
    const instance = await withQueue({ type: 'topic', attemptsMax: 1 });
    await instance.subscribe('orders', { name: 'one' });
    await put(instance, 'a');
    const session = instance.openSession();
    expect(await session.dequeue('orders', { subscriber: 'one' })).toHaveLength(1);
    await instance.unsubscribe('orders', 'one');
    await session.rollback();
    await put(instance, 'behind what the rollback had to commit');
    expect(instance.queue('orders.exceptions')).toMatchObject({ enqueued: 0 });
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 0, enqueued: 2 });
  });

  it('requires its exception queue to exist', async () => {
    const instance = await withQueue({ attemptsMax: 1 });
    expect(instance.queue('orders')).toMatchObject({ attemptsMax: 1, exceptionQueue: 'orders.exceptions' });
    await expect(instance.dropQueue('orders.exceptions')).rejects.toThrow(code('QUEUE_IN_USE'));
    await instance.dropQueue('orders');
    expect(instance.queues()).toEqual([]);
    for (const spec of [
      { attemptsMax: 0 },
      { attemptsMax: 1_001 },
      { retryDelayMs: -1 },
      { attemptsCounted: 'on-delivery' as const, attemptsMax: null },
      { attemptsCounted: 'on-delivery' as const, durability: 'memory' as const },
    ]) {
      await expect(instance.createQueue({ name: 'odd', ...spec })).rejects.toThrow(
        code('QUEUE_SPEC_INVALID'),
      );
    }
  });
});

describe('a queue with priorities', () => {
  it('delivers the most urgent first, and each priority in order', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'orders', priorities: true, shards: 2 });
    const session = before.openSession();
    for (const [payload, priority] of [
      ['a', 0],
      ['b', 9],
      ['c', 4],
      ['d', 9],
    ] as const) {
      session.enqueue('orders', { payload, priority });
    }
    const { ids } = await session.commit();
    expect(new Set(ids).size).toBe(4);
    const [first] = await session.dequeue('orders');
    expect(first).toMatchObject({ id: ids[1], priority: 9 });
    await session.commit();
    await before.close();
    const after = await openTestInstance({ dir });
    expect(text(await after.openSession().dequeue('orders', { max: 1 }))).toEqual(['d']);
    const rest = after.openSession();
    const seen: string[] = [];
    while (seen.length < 2) seen.push(...text(await rest.dequeue('orders', { max: 5 })));
    expect(seen).toEqual(['c', 'a']);
  });

  it('refuses priorities where the queue has none', async () => {
    const instance = await withQueue({});
    const session = instance.openSession();
    expect(() => session.enqueue('orders', { payload: 'x', priority: 1 })).toThrow(code('MESSAGE_INVALID'));
    expect(() => session.enqueue('orders', { payload: 'x', priority: 10 })).toThrow(code('MESSAGE_INVALID'));
  });
});
