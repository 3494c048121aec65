/** Partitions are truncated even though a few old messages in them are not consumed. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { type Instance, openInstance, type Session } from '../src/index.ts';
import type { LocalInstance } from '../src/runtime/local-instance.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';

const partitionMessagesMax = 10;

async function put(session: Session, queue: string, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i += 1) {
    session.enqueue(queue, { payload: `m${i}` });
    await session.commit();
  }
}

async function consume(session: Session, queue: string, count: number, subscriber?: string): Promise<void> {
  let left = count;
  while (left > 0) {
    const options = { max: left, waitMs: 30_000, ...(subscriber === undefined ? {} : { subscriber }) };
    left -= (await session.dequeue(queue, options)).length;
    await session.commit();
  }
}

const partitions = (instance: Instance) =>
  instance.stats().shards.flatMap((shard) => shard.partitions).length;

/** A queue of which `held` messages are held by a session while 100 behind them were consumed. */
async function withHeldMessages(dir: string, held: number) {
  const instance = await openInstance({ dir, partitionMessagesMax });
  await instance.createQueue({ name: 'orders' });
  const [holder, worker] = [instance.openSession(), instance.openSession()];
  await put(worker, 'orders', 0, held);
  expect(await holder.dequeue('orders', { max: held })).toHaveLength(held);
  for (let i = 0; i < 10; i += 1) {
    await put(worker, 'orders', held + i * 10, held + (i + 1) * 10);
    await consume(worker, 'orders', 10);
  }
  return { instance, holder, worker };
}

describe('evacuated messages', () => {
  it('let their partitions be truncated and can still be consumed', async () => {
    const { instance, holder } = await withHeldMessages(makeFolder(), 3);
    await expect.poll(() => partitions(instance)).toBeLessThanOrEqual(4);
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 3, enqueued: 103, consumed: 100 });
    expect(instance.stats().commits).toBe(103 + 10); // of the sessions: that which moved them is not counted
    await holder.commit();
    expect(instance.queue('orders')).toMatchObject({ ready: 0, held: 0, enqueued: 103, consumed: 103 });
    await instance.close();
  });

  it('are redelivered first and in order, with their delivery count, and can be browsed', async () => {
    const { instance, holder, worker } = await withHeldMessages(makeFolder(), 3);
    await expect.poll(() => partitions(instance)).toBeLessThanOrEqual(4);
    expect((await instance.browse('orders')).messages).toMatchObject([
      { id: '100.1', state: 'held' },
      { id: '100.2', state: 'held' },
      { id: '100.3', state: 'held' },
    ]);
    await holder.rollback();
    await put(worker, 'orders', 200, 201);
    const all = await worker.dequeue('orders', { max: 9 });
    expect(text(all)).toEqual(['m0', 'm1', 'm2', 'm200']);
    expect(all.map(({ deliveryCount }) => deliveryCount)).toEqual([2, 2, 2, 1]);
    const page = await instance.browse('orders', { limit: 2 });
    expect(text(page.messages)).toEqual(['m0', 'm1']);
    expect(text((await instance.browse('orders', { after: page.next! })).messages)).toEqual(['m2', 'm200']);
    await instance.close();
  });

  it('survive a restart until they are consumed', async () => {
    const dir = makeFolder();
    const { instance: first } = await withHeldMessages(dir, 2);
    await expect.poll(() => partitions(first)).toBeLessThanOrEqual(4);
    await first.close();
    const second = await openInstance({ dir, partitionMessagesMax });
    expect(second.queue('orders')).toMatchObject({ ready: 2, held: 0, enqueued: 102, consumed: 100 });
    const session = second.openSession();
    const [one] = await session.dequeue('orders');
    expect(one).toMatchObject({ id: '100.1', deliveryCount: 2 });
    await session.commit();
    await session.dequeue('orders');
    await session.rollback();
    await second.close();
    const third = await openTestInstance({ dir, partitionMessagesMax });
    const left = await third.openSession().dequeue('orders', { max: 9, waitMs: 30_000 });
    expect(left).toMatchObject([{ id: '100.2', deliveryCount: 3 }]);
  });

  it('each keep the delivery count of their shared deliveries after a restart', async () => {
    const dir = makeFolder();
    const { instance, holder } = await withHeldMessages(dir, 3);
    await expect.poll(() => partitions(instance)).toBeLessThanOrEqual(4);
    await holder.rollback();
    expect(await holder.dequeue('orders', { max: 3 })).toHaveLength(3);
    await holder.rollback();
    await instance.close();
    const after = await openTestInstance({ dir, partitionMessagesMax });
    const again = await after.openSession().dequeue('orders', { max: 3 });
    expect(again.map(({ deliveryCount }) => deliveryCount)).toEqual([3, 3, 3]);
  });

  it('are removed like delayed messages if their queue is dropped while their instance is closed', async () => {
    const dir = makeFolder();
    const { instance, worker } = await withHeldMessages(dir, 3);
    worker.enqueue('orders', { payload: 'x', delayMs: 3_600_000 });
    await worker.commit();
    await expect.poll(() => partitions(instance)).toBeLessThanOrEqual(4);
    await instance.close();
    const other = await openTestInstance({ dir, instance: 2 });
    await other.dropQueue('orders');
    const after = (await openInstance({ dir, partitionMessagesMax })) as LocalInstance;
    await expect.poll(() => after.isEmpty).toBe(true);
    await after.close();
    const file = new Database(join(dir, 'instance-1.db'));
    for (const table of ['evacuated', 'delayed']) {
      expect(file.prepare(`SELECT * FROM ${table}`).all()).toEqual([]);
    }
    file.close();
  });

  it('are limited in number: a partition with too many live messages is kept', async () => {
    const held = limits.evacuatedPerPartitionMax + 1;
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, partitionMessagesMax: held });
    await instance.createQueue({ name: 'orders' });
    const [holder, worker] = [instance.openSession(), instance.openSession()];
    await put(worker, 'orders', 0, held);
    await holder.dequeue('orders', { max: held });
    for (let i = 0; i < 3; i += 1) {
      await put(worker, 'orders', 0, held);
      await consume(worker, 'orders', held);
    }
    expect(partitions(instance)).toBeGreaterThanOrEqual(4);
    await holder.rollback();
    expect(await holder.dequeue('orders', { max: held })).toHaveLength(held);
  });

  it('belong to one subscriber of a topic each', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir, partitionMessagesMax });
    await before.createQueue({ name: 'news', type: 'topic' });
    for (const name of ['one', 'two']) await before.subscribe('news', { name });
    const [holder, worker] = [before.openSession(), before.openSession()];
    await put(worker, 'news', 0, 1);
    await holder.dequeue('news', { subscriber: 'one' });
    await consume(worker, 'news', 1, 'two');
    for (let i = 0; i < 6; i += 1) {
      await put(worker, 'news', 1 + i * 10, 11 + i * 10);
      await consume(worker, 'news', 10, 'one');
      await consume(worker, 'news', 10, 'two');
    }
    await expect.poll(() => partitions(before)).toBeLessThanOrEqual(4);
    await before.close();
    const after = await openTestInstance({ dir, partitionMessagesMax });
    expect(after.subscribers('news')).toMatchObject([
      { name: 'one', backlog: 1 },
      { name: 'two', backlog: 0 },
    ]);
    const session = after.openSession();
    expect(text(await session.dequeue('news', { subscriber: 'one', waitMs: 30_000 }))).toEqual(['m0']);
    expect(await session.dequeue('news', { subscriber: 'two' })).toEqual([]);
    await session.commit();
  });
});
