/** Topics: each subscriber gets the messages committed after it subscribed, once, in order, from one stored copy. */

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { type Instance, type Message, openInstance, type QueueKind } from '../src/index.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { whileLogFull } from './while-log-full.ts';

async function withTopic(
  options: Parameters<typeof openTestInstance>[0] & { kind?: QueueKind } = {},
): Promise<Instance> {
  const { kind = 'sharded', ...rest } = options;
  const instance = await openTestInstance(rest);
  await instance.createQueue({ name: 'news', kind, type: 'topic', shards: 2 });
  return instance;
}

async function publish(instance: Instance, payloads: string[], recipients?: string[]): Promise<void> {
  const session = instance.openSession();
  for (const payload of payloads)
    session.enqueue('news', { payload, ...(recipients === undefined ? {} : { recipients }) });
  await session.commit();
  await session.close();
}

/** Consumes all messages of a subscriber. */
async function drain(instance: Instance, subscriber: string): Promise<Message[]> {
  const session = instance.openSession();
  const all: Message[] = [];
  for (;;) {
    const some = await session.dequeue('news', { subscriber, max: 100 });
    if (some.length === 0) break;
    all.push(...some);
  }
  await session.commit();
  await session.close();
  return all;
}

const code = (value: string) => expect.objectContaining({ code: value });

describe.each<QueueKind>(['sharded', 'unsharded', 'unsharded-grouped'])('a topic of kind %s', (kind) => {
  it('gives each subscriber every message committed after it subscribed, once and in order', async () => {
    const instance = await withTopic({ kind });
    await instance.subscribe('news', { name: 'early' });
    await publish(instance, ['a', 'b']);
    await instance.subscribe('news', { name: 'late' });
    await publish(instance, ['c']);
    expect(text(await drain(instance, 'early')).sort()).toEqual(['a', 'b', 'c']);
    expect(text(await drain(instance, 'late'))).toEqual(['c']);
    expect(await drain(instance, 'early')).toEqual([]);
  });

  it('delivers a message to a subscriber whether another one rolled it back or consumed it', async () => {
    const instance = await withTopic({ kind });
    for (const name of ['one', 'two']) await instance.subscribe('news', { name });
    await publish(instance, ['a']);
    const session = instance.openSession();
    expect(text(await session.dequeue('news', { subscriber: 'one' }))).toEqual(['a']);
    await session.rollback();
    expect(text(await drain(instance, 'two'))).toEqual(['a']);
    const [again] = await drain(instance, 'one');
    expect(again).toMatchObject({ deliveryCount: 2 });
  });

  it('holds a message for one session of a subscriber at a time', async () => {
    const instance = await withTopic({ kind });
    await instance.subscribe('news', { name: 'one' });
    await publish(instance, ['a']);
    const [first, second] = [instance.openSession(), instance.openSession()];
    const [held] = await first.receive('news', { subscriber: 'one' });
    expect(await second.dequeue('news', { subscriber: 'one' })).toEqual([]);
    await instance.unsubscribe('news', 'one');
    await expect(first.release('news', [held!.receipt])).rejects.toThrow(code('RECEIPT_STALE'));
  });

  it('wakes the waiting calls of the subscriber that has a message', async () => {
    const instance = await withTopic({ kind });
    for (const name of ['one', 'two']) await instance.subscribe('news', { name });
    const waits = ['one', 'two'].map((subscriber) =>
      instance.openSession().dequeue('news', { subscriber, waitMs: 60_000 }),
    );
    await publish(instance, ['a']);
    expect((await Promise.all(waits)).map(text)).toEqual([['a'], ['a']]);
  });

  it('keeps durable subscribers over a restart, and no others', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'news', kind, type: 'topic', shards: 2 });
    await before.subscribe('news', { name: 'lasting' });
    await before.subscribe('news', { name: 'passing', durable: false });
    await publish(before, ['a', 'b', 'c', 'd']);
    const session = before.openSession();
    const [first] = await session.dequeue('news', { subscriber: 'lasting' });
    await session.commit();
    await session.dequeue('news', { subscriber: 'passing', max: 4 });
    await session.commit();
    await before.close();

    const after = await openTestInstance({ dir });
    expect(after.subscribers('news')).toMatchObject([
      { name: 'lasting', durable: true, backlog: 3, held: 0 },
    ]);
    const rest = ['a', 'b', 'c', 'd'].filter((payload) => payload !== first!.payload.toString());
    expect(text(await drain(after, 'lasting')).sort()).toEqual(rest);
    await expect(drain(after, 'passing')).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
  });

  it('delivers a message to its recipients only, before and after a restart', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'news', kind, type: 'topic' });
    for (const name of ['one', 'two']) await before.subscribe('news', { name });
    await publish(before, ['for one'], ['one']);
    await publish(before, ['for all']);
    await publish(before, ['for two'], ['two']);
    expect(text(await drain(before, 'two'))).toEqual(['for all', 'for two']);
    expect(before.subscribers('news').find(({ name }) => name === 'two')).toMatchObject({ backlog: 0 });
    await before.close();
    const after = await openTestInstance({ dir });
    expect(text(await drain(after, 'one'))).toEqual(['for one', 'for all']);
    expect(await drain(after, 'two')).toEqual([]);
    await expect(publish(after, ['x'], ['nobody'])).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
    await expect(publish(after, ['x'], [])).rejects.toThrow(code('MESSAGE_INVALID'));
  });

  it('reports the backlog and the lag of each subscriber', async () => {
    const instance = await withTopic({ kind });
    for (const name of ['one', 'two']) await instance.subscribe('news', { name });
    await publish(instance, ['a', 'b']);
    await drain(instance, 'two');
    const [one, two] = instance.subscribers('news');
    expect(one).toMatchObject({ name: 'one', backlog: 2, held: 0 });
    expect(one!.lagMs).toBeGreaterThanOrEqual(0);
    expect(two).toMatchObject({ name: 'two', backlog: 0, lagMs: 0 });
    expect(instance.queue('news')).toMatchObject({ type: 'topic', enqueued: 2, ready: 2, consumed: 0 });
  });

  it('discards messages while it has no subscriber', async () => {
    const instance = await withTopic({ kind });
    await publish(instance, ['unheard']);
    expect(instance.queue('news')).toMatchObject({ enqueued: 1, ready: 0, consumed: 1 });
    await instance.subscribe('news', { name: 'one' });
    expect(await drain(instance, 'one')).toEqual([]);
  });

  it('keeps messages on every live instance from the moment that subscribing returns', async () => {
    const dir = makeFolder();
    const first = await withTopic({ dir, kind });
    const second = await openTestInstance({ dir, instance: 2 });
    await first.subscribe('news', { name: 'one' });
    await publish(second, ['from two']);
    expect(text(await drain(second, 'one'))).toEqual(['from two']);
    await first.unsubscribe('news', 'one');
    await expect.poll(() => second.subscribers('news')).toEqual([]);
  });

  it('refuses calls that do not fit a topic or its subscribers', async () => {
    const instance = await withTopic({ kind });
    await instance.createQueue({ name: 'orders', kind });
    await instance.subscribe('news', { name: 'one' });
    const session = instance.openSession();
    await expect(session.dequeue('news')).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(session.dequeue('orders', { subscriber: 'one' })).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(instance.subscribe('orders', { name: 'one' })).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(instance.subscribe('news', { name: '' })).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(instance.subscribe('news', { name: 'one', durable: false })).rejects.toThrow(
      code('SUBSCRIBER_EXISTS'),
    );
    await expect(instance.unsubscribe('news', 'two')).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
    expect(() => session.enqueue('orders', { payload: 'x', recipients: ['one'] })).toThrow(
      code('MESSAGE_INVALID'),
    );
  });
});

describe('a sharded topic', () => {
  it('stores a message once for any number of subscribers, and truncates after the last one consumed it', async () => {
    const dir = makeFolder();
    const instance = await withTopic({ dir, partitionMessagesMax: 10 });
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    for (const name of names) await instance.subscribe('news', { name });
    for (let i = 0; i < 40; i += 1) await publish(instance, [`m${i}`]);
    const partitions = () => instance.stats().shards.flatMap((shard) => shard.partitions).length;
    const stored = new Database(join(dir, 'instance-1.db'), { readonly: true });
    const count = () =>
      stored
        .prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'partition_[0-9]*'")
        .pluck()
        .all()
        .reduce((sum: number, table) => {
          return (
            sum +
            (stored
              .prepare(`SELECT coalesce(sum(count), 0) FROM ${table as string}`)
              .pluck()
              .get() as number)
          );
        }, 0);
    await instance.checkpoint();
    expect(count()).toBe(40);
    const full = partitions();
    for (const name of names.slice(1)) expect(await drain(instance, name)).toHaveLength(40);
    await instance.checkpoint(); // Partitions would be truncated by now.
    expect(partitions()).toBe(full);
    expect(await drain(instance, names[0]!)).toHaveLength(40);
    await expect.poll(partitions).toBeLessThanOrEqual(2);
    stored.close();
  });

  it('adds no subscriber that could not be stored', async () => {
    const instance = await withTopic();
    await whileLogFull(async () => {
      await expect(instance.subscribe('news', { name: 'one' })).rejects.toThrow(code('STORAGE_FULL'));
    });
    await instance.subscribe('news', { name: 'one' });
    await publish(instance, ['a']);
    expect(text(await drain(instance, 'one'))).toEqual(['a']);
  });

  it('has up to 1,024 subscribers, and refuses more with an error that says so', async () => {
    const instance = await withTopic();
    const names = Array.from({ length: limits.subscribersMax }, (_, index) => `s${index}`);
    await Promise.all(names.map((name) => instance.subscribe('news', { name })));
    await expect(instance.subscribe('news', { name: 'one more' })).rejects.toThrow(code('SUBSCRIBERS_FULL'));
    await publish(instance, ['a']);
    expect(instance.subscribers('news').every(({ backlog }) => backlog === 1)).toBe(true);
    expect(text(await drain(instance, 's1023'))).toEqual(['a']);
  }, 60_000);
});
