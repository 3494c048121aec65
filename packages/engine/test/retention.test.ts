/** Retention: consumed messages stay in their partitions for a while, and can be browsed until the partitions are truncated. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Instance, Session } from '../src/index.ts';
import { makeFolder, openTestClient, openTestInstance, text } from './folder.ts';
import { isTorture } from './random.ts';

const hourMs = 3_600_000;

/** Uses transactions of up to five messages, since a larger one would get a partition of its own. */
async function put(session: Session, queue: string, count: number, from = 0): Promise<void> {
  for (let i = from; i < from + count; i += 1) {
    session.enqueue(queue, { payload: `${i}`, correlationId: `c${i % 3}` });
    if ((i - from) % 5 === 4) await session.commit();
  }
  await session.commit();
}

async function consume(session: Session, queue: string, count: number, subscriber?: string): Promise<void> {
  for (let left = count; left > 0; ) {
    const messages = await session.dequeue(queue, {
      max: left,
      ...(subscriber !== undefined && { subscriber }),
    });
    expect(messages.length).toBeGreaterThan(0);
    left -= messages.length;
  }
  await session.commit();
}

/** Browses the consumed messages in pages of four. */
async function processed(
  instance: Pick<Instance, 'browse'>,
  queue: string,
  options: { subscriber?: string; correlationId?: string } = {},
): Promise<string[]> {
  const seen: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await instance.browse(queue, {
      processed: true,
      limit: 4,
      ...options,
      ...(after !== undefined && { after }),
    });
    for (const { state, deliveryCount } of page.messages)
      expect({ state, deliveryCount }).toEqual({ state: 'processed', deliveryCount: 0 });
    seen.push(...text(page.messages));
    if (page.next === null) return seen;
    after = page.next;
  }
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);
const partitionCount = (instance: Instance) =>
  instance.stats().shards.flatMap(({ partitions }) => partitions).length;

describe('a queue that keeps consumed messages', () => {
  it('shows consumed messages and no waiting ones, after a restart too', async () => {
    const dir = makeFolder();
    const first = await openTestInstance({ dir, partitionMessagesMax: 5 });
    await first.createQueue({ name: 'orders', retentionMs: hourMs, correlationIndex: true });
    expect(first.queue('orders')).toMatchObject({ retentionMs: hourMs, forwarding: false });
    const session = first.openSession();
    await put(session, 'orders', 23);
    await consume(session, 'orders', 17);
    expect(await processed(first, 'orders')).toEqual(numbers(17));
    expect(await processed(first, 'orders', { correlationId: 'c1' })).toEqual([
      '1',
      '4',
      '7',
      '10',
      '13',
      '16',
    ]);
    expect(text((await first.browse('orders')).messages)).toEqual(numbers(23).slice(17));
    expect(partitionCount(first)).toBe(5);
    await first.close();

    const second = await openTestInstance({ dir, partitionMessagesMax: 5 });
    expect(await processed(second, 'orders')).toEqual(numbers(17));
    await consume(second.openSession(), 'orders', 6);
    expect(await processed(await openTestClient(second), 'orders')).toEqual(numbers(23));
  });

  it('truncates their partitions when the retention time is over, without any further call', async () => {
    const instance = await openTestInstance({ partitionMessagesMax: 5 });
    await instance.createQueue({ name: 'orders', retentionMs: 50 });
    const session = instance.openSession();
    await put(session, 'orders', 23);
    await consume(session, 'orders', 21);
    // The last partition is never truncated, so its consumed messages stay visible.
    await expect.poll(() => processed(instance, 'orders')).toEqual(['20']);
    await expect.poll(() => partitionCount(instance)).toBe(1);
  });

  it('shows a subscriber of a topic the messages that it has consumed itself', async () => {
    const instance = await openTestInstance({ partitionMessagesMax: 5 });
    await instance.createQueue({ name: 'news', type: 'topic', retentionMs: hourMs });
    for (const name of ['a', 'b']) await instance.subscribe('news', { name });
    const session = instance.openSession();
    await put(session, 'news', 12);
    session.enqueue('news', { payload: 'for b', recipients: ['b'] });
    await session.commit();
    await consume(session, 'news', 12, 'a');
    await consume(session, 'news', 13, 'b');
    expect(await processed(instance, 'news', { subscriber: 'a' })).toEqual(numbers(12));
    expect(await processed(instance, 'news', { subscriber: 'b' })).toEqual([...numbers(12), 'for b']);
  });

  it('does not show an evacuated message that is still held', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, partitionMessagesMax: 5 });
    await instance.createQueue({ name: 'orders', retentionMs: hourMs });
    const session = instance.openSession();
    await put(session, 'orders', 30);
    const [held] = await instance.openSession().receive('orders', { max: 1, holdMs: 60_000 });
    expect(held?.payload.toString()).toBe('0');
    await consume(session, 'orders', 29);
    await put(session, 'orders', 10, 30);
    const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
    onTestFinished(() => void file.close());
    await expect.poll(() => file.prepare('SELECT seq FROM evacuated').pluck().all()).toEqual([1]);
    expect(await processed(instance, 'orders')).toEqual(numbers(30).slice(1));
  });

  it.each([
    ['an unsharded queue', { kind: 'unsharded' as const }],
    ['a queue in memory', { durability: 'memory' as const }],
    ['a queue that forwards', { forwarding: true }],
  ])('cannot be %s', async (_, spec) => {
    const instance = await openTestInstance();
    await expect(instance.createQueue({ name: 'orders', retentionMs: 1, ...spec })).rejects.toMatchObject({
      code: 'QUEUE_SPEC_INVALID',
    });
  });

  it('is the only kind of queue that can be browsed for them', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    await expect(instance.browse('orders', { processed: true })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
    });
  });
});

it('browses show each message once, as consumed or as waiting, after any order of calls', {
  timeout: 300_000,
}, async () => {
  const call = fc.oneof(
    fc.record({ call: fc.constant('put' as const), count: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ call: fc.constant('consume' as const), count: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ call: fc.constant('return' as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ call: fc.constant('reopen' as const), count: fc.constant(0) }),
  );
  const dir = makeFolder();
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 25 }), async (calls) => {
      round += 1;
      const options = { dir: `${dir}/${round}`, partitionMessagesMax: 4 };
      let instance = await openTestInstance(options);
      await instance.createQueue({ name: 'orders', retentionMs: hourMs });
      let session = instance.openSession();
      let enqueued = 0;
      const consumed = new Set<string>();
      for (const { call, count } of calls) {
        if (call === 'put') {
          await put(session, 'orders', count, enqueued);
          enqueued += count;
        } else if (call === 'reopen') {
          await instance.close();
          instance = await openTestInstance(options);
          session = instance.openSession();
        } else {
          const messages = await session.dequeue('orders', { max: count });
          if (call === 'return') await session.rollback();
          else {
            await session.commit();
            for (const payload of text(messages)) consumed.add(payload);
          }
        }
      }
      expect(new Set(await processed(instance, 'orders'))).toEqual(consumed);
      const waiting = text((await instance.browse('orders', { limit: 1_000 })).messages);
      expect(waiting).toEqual(numbers(enqueued).filter((payload) => !consumed.has(payload)));
      await instance.close();
    }),
    { numRuns: isTorture ? 36 : 5 },
  );
});
