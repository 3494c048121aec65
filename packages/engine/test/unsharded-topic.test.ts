/** Unsharded topics: one stored copy with a row for each recipient, in the file that all instances share. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { checkFolder, type Instance, type NewMessage, type QueueKind } from '../src/index.ts';
import { makeFolder, openTestClient, openTestInstance, text } from './folder.ts';

const code = (value: string) => expect.objectContaining({ code: value });

async function publish(instance: Instance, messages: NewMessage[]): Promise<string[]> {
  const session = instance.openSession();
  for (const message of messages) session.enqueue('news', message);
  const { ids } = await session.commit();
  await session.close();
  return ids;
}

async function take(instance: Instance, subscriber: string, max = 100): Promise<string[]> {
  const session = instance.openSession();
  const messages = await session.dequeue('news', { subscriber, max });
  await session.commit();
  await session.close();
  return text(messages);
}

function openFile(dir: string): Database.Database {
  const file = new Database(join(dir, 'unsharded.db'), { readonly: true });
  onTestFinished(() => void file.close());
  return file;
}

const count = (file: Database.Database, table: string) =>
  file.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;

describe.each<QueueKind>(['unsharded', 'unsharded-grouped'])('a topic of kind %s', (kind) => {
  async function setUp({ priorities = false, subscribers = ['one', 'two'] } = {}) {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'news', kind, type: 'topic', priorities });
    for (const name of subscribers) await instance.subscribe('news', { name });
    return { dir, instance };
  }

  it('stores a message once, with a row for each subscriber, until the last one has consumed it', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const { dir, instance } = await setUp({ subscribers: names });
    for (let i = 0; i < 10; i += 1) await publish(instance, [{ payload: `m${i}` }, { payload: `n${i}` }]);
    const file = openFile(dir);
    expect([count(file, 'message'), count(file, 'recipient')]).toEqual([20, 400]);
    for (const name of names.slice(1)) expect(await take(instance, name)).toHaveLength(20);
    expect([count(file, 'message'), count(file, 'recipient')]).toEqual([20, 20]);
    expect(instance.queue('news')).toMatchObject({ enqueued: 20, consumed: 0, ready: 20, held: 0 });
    expect(await take(instance, 's0', 15)).toHaveLength(15);
    expect(count(file, 'message')).toBe(5);
    expect(await take(instance, 's0')).toEqual(['n7', 'm8', 'n8', 'm9', 'n9']);
    for (const table of ['message', 'recipient', 'message_recipients']) expect(count(file, table)).toBe(0);
    expect(instance.queue('news')).toMatchObject({ enqueued: 20, consumed: 20, ready: 0 });
  });

  it('delivers by priority, then in the order of enqueue, and a returned message in its old place', async () => {
    const { instance } = await setUp({ priorities: true });
    await publish(instance, [
      { payload: 'a' },
      { payload: 'b', priority: 3 },
      { payload: 'c' },
      { payload: 'd', priority: 9 },
    ]);
    const session = instance.openSession();
    expect(text(await session.dequeue('news', { subscriber: 'one', max: 3 }))).toEqual(['d', 'b', 'a']);
    await session.rollback();
    await publish(instance, [{ payload: 'e', priority: 3 }]);
    const again = await session.dequeue('news', { subscriber: 'one', max: 9 });
    expect(again.map(({ payload, deliveryCount }) => [payload.toString(), deliveryCount])).toEqual([
      ['d', 2],
      ['b', 2],
      ['e', 1],
      ['a', 2],
      ['c', 1],
    ]);
    await session.commit();
    expect(await take(instance, 'two')).toEqual(['d', 'b', 'e', 'a', 'c']);
  });

  it('is one topic for all instances, whichever of them a message is enqueued on', async () => {
    const { dir, instance: first } = await setUp();
    const second = await openTestInstance({ dir, instance: 2 });
    await publish(first, [{ payload: 'a' }]);
    expect(await take(second, 'one')).toEqual(['a']);
    expect(await take(first, 'one')).toEqual([]);
    const waiting = second.openSession().dequeue('news', { subscriber: 'one', waitMs: 60_000 });
    await publish(first, [{ payload: 'for two', recipients: ['two'] }]);
    await publish(first, [{ payload: 'b' }]);
    expect(text(await waiting)).toEqual(['b']);
    await second.subscribe('news', { name: 'three' });
    await publish(first, [{ payload: 'c', recipients: ['three', 'three'] }]);
    expect(await take(first, 'three')).toEqual(['c']);
    expect(await take(first, 'two')).toEqual(['a', 'for two', 'b']);
  });

  it('deletes the messages of a removed subscriber only, however many, and ends its waits and holds', async () => {
    const { dir, instance } = await setUp();
    const messages = limits.purgedRowsPerWrite + 5;
    const session = instance.openSession();
    for (let i = 0; i < messages; i += 1) session.enqueue('news', { payload: `${i}`, recipients: ['one'] });
    await session.commit();
    await publish(instance, [{ payload: 'for both' }]);
    const [held] = await session.receive('news', { subscriber: 'one' });
    await session.dequeue('news', { subscriber: 'one', max: 2 });
    const waiting = instance.openSession().dequeue('news', { subscriber: 'one', max: 1, waitMs: 0 });
    await waiting;
    await instance.unsubscribe('news', 'one');
    await session.commit(); // The held messages are deleted, so the commit consumes nothing.
    await expect(session.release('news', [held!.receipt])).rejects.toThrow(code('RECEIPT_STALE'));
    await expect(session.dequeue('news', { subscriber: 'one' })).rejects.toThrow(
      code('SUBSCRIBER_NOT_FOUND'),
    );
    const file = openFile(dir);
    expect([count(file, 'message'), count(file, 'recipient')]).toEqual([1, 1]);
    expect(instance.queue('news')).toMatchObject({ enqueued: messages + 1, consumed: messages, ready: 1 });
    expect(await take(instance, 'two')).toEqual(['for both']);
    await instance.subscribe('news', { name: 'one' });
    expect(await take(instance, 'one')).toEqual([]);
  });

  it('rejects a call that waits for a subscriber that is removed', async () => {
    const { instance } = await setUp();
    const waiting = instance.openSession().dequeue('news', { subscriber: 'one', waitMs: 60_000 });
    const other = instance.openSession().dequeue('news', { subscriber: 'two', waitMs: 60_000 });
    const rejected = expect(waiting).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
    await instance.unsubscribe('news', 'one');
    await rejected;
    await publish(instance, [{ payload: 'a' }]);
    expect(text(await other)).toEqual(['a']);
  });

  it('shows a subscriber its messages in pages, held ones included, and finds those of a correlation id', async () => {
    const { instance } = await setUp({ priorities: true });
    const ids = await publish(instance, [
      { payload: 'a', correlationId: 'x' },
      { payload: 'b', priority: 2 },
      { payload: 'c', recipients: ['two'] },
      { payload: 'd', correlationId: 'x' },
    ]);
    const session = instance.openSession();
    await session.receive('news', { subscriber: 'one', holdMs: 60_000 });
    const first = await instance.browse('news', { subscriber: 'one', limit: 2 });
    expect(first.messages.map(({ id, state }) => [id, state])).toEqual([
      [ids[1], 'held'],
      [ids[0], 'ready'],
    ]);
    expect(first.messages[0]!.untilMs).toBeGreaterThan(0);
    const rest = await instance.browse('news', { subscriber: 'one', limit: 2, after: first.next! });
    expect(rest).toMatchObject({ messages: [{ id: ids[3], state: 'ready' }], next: null });
    const found = await instance.browse('news', { subscriber: 'one', correlationId: 'x', limit: 1 });
    expect(found.messages.map(({ id }) => id)).toEqual([ids[0]]);
    await expect(instance.browse('news', { subscriber: 'one', after: 'x.1' })).rejects.toThrow(
      code('OPTIONS_INVALID'),
    );
    await expect(instance.browse('news', { subscriber: 'nobody' })).rejects.toThrow(
      code('SUBSCRIBER_NOT_FOUND'),
    );
  });

  it('can be used with a queue of its kind in one transaction, by remote sessions too', async () => {
    const { instance } = await setUp();
    await instance.createQueue({ name: 'orders', kind });
    const client = await openTestClient(instance);
    const session = client.openSession();
    session.enqueue('orders', { payload: 'order' });
    session.enqueue('news', { payload: 'for all' });
    session.enqueue('news', { payload: 'for two', recipients: ['two'] });
    await session.commit();
    expect(text(await session.dequeue('orders'))).toEqual(['order']);
    expect(text(await session.dequeue('news', { subscriber: 'two', max: 9 }))).toEqual([
      'for all',
      'for two',
    ]);
    session.enqueue('orders', { payload: 'next' });
    await session.commit();
    const held = await session.receive('news', { subscriber: 'one' });
    expect(text(held)).toEqual(['for all']);
    session.acknowledge('news', [held[0]!.receipt]);
    await session.commit();
    expect(await client.queue('news')).toMatchObject({ enqueued: 2, consumed: 2, ready: 0, held: 0 });
    session.enqueue('news', { payload: 'x', recipients: ['nobody'] });
    await expect(session.commit()).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
    await session.rollback();
  });

  it('is shown in the views of the file, with each subscriber', async () => {
    const { dir, instance } = await setUp();
    await publish(instance, [{ payload: 'a' }, { payload: 'b' }, { payload: 'c', recipients: ['two'] }]);
    await take(instance, 'two', 1);
    await instance.openSession().dequeue('news', { subscriber: 'one' });
    const file = openFile(dir);
    expect(
      file.prepare('SELECT queue, depth, ready, held, enqueued, consumed FROM shardlab_queues').all(),
    ).toEqual([{ queue: 'news', depth: 3, ready: 3, held: 1, enqueued: 3, consumed: 0 }]);
    expect(instance.queueStats('news').total).toMatchObject({ depth: 3, ready: 3, held: 1 });
    const columns = 'queue, subscriber, durable, depth, ready, held, enqueued, consumed';
    expect(file.prepare(`SELECT ${columns} FROM shardlab_subscribers`).all()).toEqual([
      { queue: 'news', subscriber: 'one', durable: 1, depth: 2, ready: 1, held: 1, enqueued: 2, consumed: 0 },
      { queue: 'news', subscriber: 'two', durable: 1, depth: 2, ready: 2, held: 0, enqueued: 3, consumed: 1 },
    ]);
  });

  it('if allowed, makes unknown recipients temporary subscribers until their last message is consumed', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    const spec = { name: 'news', kind, type: 'topic', temporarySubscribers: true } as const;
    expect(await instance.createQueue(spec)).toMatchObject({ temporarySubscribers: true });
    await instance.subscribe('news', { name: 'one' });
    const session = instance.openSession();
    session.enqueue('news', { payload: 'rolled back', recipients: ['nobody'] });
    await session.rollback();
    await publish(instance, [
      { payload: 'a', recipients: ['guest', 'one', 'guest'] },
      { payload: 'b', recipients: ['guest'] },
      { payload: 'for all' },
    ]);
    expect(instance.subscribers('news').map(({ name, backlog }) => [name, backlog])).toEqual([
      ['guest', 2],
      ['one', 2],
    ]);
    await expect(session.dequeue('news', { subscriber: 'nobody' })).rejects.toThrow(
      code('SUBSCRIBER_NOT_FOUND'),
    );
    expect(text(await session.dequeue('news', { subscriber: 'guest' }))).toEqual(['a']);
    await session.rollback();
    expect((await instance.browse('news', { subscriber: 'guest' })).messages).toHaveLength(2);
    await instance.close();

    const again = await openTestInstance({ dir });
    expect(await take(again, 'guest', 1)).toEqual(['a']);
    await publish(again, [{ payload: 'c', recipients: ['guest'] }]);
    expect(await take(again, 'guest')).toEqual(['b', 'c']);
    expect(again.subscribers('news').map(({ name }) => name)).toEqual(['one']);
    await expect(take(again, 'guest')).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
    expect(await take(again, 'one')).toEqual(['a', 'for all']);
    expect(again.queue('news')).toMatchObject({ enqueued: 4, consumed: 4 });

    await publish(again, [{ payload: 'unwanted', recipients: ['stray', 'guest'] }]);
    await again.unsubscribe('news', 'stray');
    await again.subscribe('news', { name: 'guest' });
    await publish(again, [{ payload: 'd', recipients: ['guest'] }]);
    expect(await take(again, 'guest')).toEqual(['unwanted']);
    expect(await take(again, 'guest')).toEqual(['d']);
    expect(again.queue('news')).toMatchObject({ ready: 0 });
    await again.close();
    expect(checkFolder(dir).faults).toEqual([]);
  });

  it('gives a message to the subscriber that has the name of its recipient at the commit', async () => {
    const { instance } = await setUp();
    const session = instance.openSession();
    session.enqueue('news', { payload: 'a', recipients: ['one'] });
    session.enqueue('news', { payload: 'b', recipients: ['one', 'two'] });
    await instance.unsubscribe('news', 'one');
    await instance.subscribe('news', { name: 'one' });
    await instance.unsubscribe('news', 'two');
    await session.commit();
    expect(await take(instance, 'one')).toEqual(['a', 'b']);
    expect(instance.queue('news')).toMatchObject({ enqueued: 2, consumed: 2 });
  });

  it('may have more temporary subscribers than the limit of other subscribers', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'news', kind, type: 'topic', temporarySubscribers: true });
    const names = Array.from({ length: limits.subscribersMax + 11 }, (_, index) => `guest ${index}`);
    await publish(instance, [
      { payload: 'a', recipients: names.slice(0, limits.subscribersMax) },
      { payload: 'b', recipients: names.slice(11) },
    ]);
    expect(instance.subscribers('news')).toHaveLength(limits.subscribersMax + 11);
    expect(await take(instance, names[0]!)).toEqual(['a']);
    expect(await take(instance, names[500]!)).toEqual(['a', 'b']);
    expect(await take(instance, names.at(-1)!)).toEqual(['b']);
    expect(instance.subscribers('news')).toHaveLength(limits.subscribersMax + 8);
  });

  it('is dropped with all its rows', async () => {
    const { dir, instance } = await setUp();
    await publish(instance, [{ payload: 'a' }, { payload: 'b' }]);
    await instance.openSession().dequeue('news', { subscriber: 'one' });
    await instance.dropQueue('news');
    const file = openFile(dir);
    for (const table of ['message', 'recipient', 'message_recipients', 'topic_subscriber'])
      expect(count(file, table)).toBe(0);
  });

  it('refuses settings of other kinds of queue, and messages that its own settings do not allow', async () => {
    const { instance } = await setUp();
    const invalid = code('QUEUE_SPEC_INVALID');
    await expect(instance.createQueue({ name: 'q', kind, priorities: true })).rejects.toThrow(invalid);
    for (const spec of [{ kind }, { type: 'topic' }] as const)
      await expect(instance.createQueue({ name: 'q', ...spec, temporarySubscribers: true })).rejects.toThrow(
        invalid,
      );
    const session = instance.openSession();
    expect(() => session.enqueue('news', { payload: 'a', priority: 1 })).toThrow(code('MESSAGE_INVALID'));
    expect(() => session.enqueue('news', { payload: 'a', recipients: ['nobody'] })).toThrow(
      code('SUBSCRIBER_NOT_FOUND'),
    );
  });
});
