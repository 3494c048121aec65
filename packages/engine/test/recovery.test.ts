/** How an instance recovers from failures of the writer: the disk has no space for the redo log. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Instance, openInstance, type Session } from '../src/index.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { whileLogFull } from './while-log-full.ts';

async function open(dir: string): Promise<Instance> {
  const instance = await openInstance({ dir, partitionMessagesMax: 5 });
  onTestFinished(() => instance.close());
  return instance;
}

async function put(session: Session, queue: string, ...payloads: string[]): Promise<string[]> {
  for (const payload of payloads) session.enqueue(queue, { payload });
  return (await session.commit()).ids;
}

const refused = expect.objectContaining({ code: 'STORAGE_FULL' });

describe('after a group that could not be written', () => {
  it('its sequence numbers are never reused, even after a reopen', async () => {
    const dir = makeFolder();
    const first = await open(dir);
    await first.createQueue({ name: 'q' });
    await first.createQueue({ name: 'other' });
    const session = first.openSession();
    await put(session, 'q', 'a');
    await whileLogFull(() => expect(put(session, 'q', 'lost 1', 'lost 2')).rejects.toThrow(refused));
    await put(session, 'other', 'x'); // This group stores the gap of `q`.
    await first.close();
    const second = await open(dir);
    const again = second.openSession();
    await put(again, 'q', 'b', 'c');
    expect(text(await again.dequeue('q', { max: 9 }))).toEqual(['a', 'b', 'c']);
    await again.commit();
    expect(second.queue('q')).toMatchObject({ ready: 0, held: 0, enqueued: 3, consumed: 3 });
  });

  it('a gap of a dropped queue is not stored in a partition that another queue has reused', async () => {
    const dir = makeFolder();
    const first = await open(dir);
    await first.createQueue({ name: 'a' });
    const session = first.openSession();
    await put(session, 'a', 'x');
    await whileLogFull(() => expect(put(session, 'a', 'lost')).rejects.toThrow(refused));
    await first.dropQueue('a');
    await first.createQueue({ name: 'b' });
    const payloads = Array.from({ length: 40 }, (_, index) => `b${index}`);
    for (const payload of payloads) await put(session, 'b', payload);
    await first.close();
    const second = await open(dir);
    const found: string[] = [];
    const consumer = second.openSession();
    while (found.length < payloads.length) {
      const messages = await consumer.dequeue('b', { max: 50 });
      if (messages.length === 0) break;
      found.push(...text(messages));
    }
    expect(found).toEqual(payloads);
  });

  it('a dequeue continues at its position', async () => {
    const dir = makeFolder();
    const instance = await open(dir);
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    await put(session, 'q', 'a', 'b');
    await whileLogFull(async () => {
      expect(text(await session.dequeue('q'))).toEqual(['a']);
      await expect(session.commit()).rejects.toThrow(refused);
    });
    expect(text(await session.dequeue('q', { max: 2 }))).toEqual(['a', 'b']);
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0, consumed: 2 });
  });
});

describe('an instance', () => {
  it('closes once, however often `close` is called', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const waiting = instance.openSession().dequeue('q', { waitMs: 60_000 });
    await Promise.all([instance.close(), instance.close()]);
    expect(await waiting).toEqual([]);
    expect(() => instance.openSession()).toThrow(expect.objectContaining({ code: 'INSTANCE_CLOSED' }));
  });

  it('delivers the messages of all its shards to any session', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', shards: 2 });
    for (let i = 0; i < 6; i += 1) await put(instance.openSession(), 'q', `${i}`); // each session has its shard
    const session = instance.openSession();
    const shards = new Set<string>();
    for (let i = 0; i < 2; i += 1) {
      const [message] = await session.receive('q');
      shards.add(message!.id.split('.')[0]!);
    }
    expect(shards.size).toBe(2);
  });

  it('returns a hundred thousand held messages at once', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    const count = 90_000;
    for (let i = 0; i < count; i += 1) session.enqueue('q', { payload: '' });
    await session.commit();
    let taken = 0;
    while (taken < count) taken += (await session.dequeue('q', { max: 10_000 })).length;
    await session.rollback();
    const [first] = await session.dequeue('q');
    expect(first).toMatchObject({ deliveryCount: 2 });
    expect(first!.id.split('.')[1]).toBe('1');
    await session.rollback();
  });
});
