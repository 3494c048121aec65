/** Delayed messages: stored separately until they are due, then messages like any other. */
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { openInstance } from '../src/index.ts';
import { DelayClock } from '../src/model/delay-clock.ts';
import type { DueMessages } from '../src/model/delayed-message.ts';
import { nodePorts } from '../src/node-ports.ts';
import { DelayedMessages } from '../src/queues/delayed-messages.ts';
import type { LocalInstance } from '../src/runtime/local-instance.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';

const code = (value: string) => expect.objectContaining({ code: value });

describe('a delayed message', () => {
  it('is delivered once it is due, with the id that its commit gave', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'later', delayMs: 50, correlationId: 'c' });
    session.enqueue('orders', { payload: 'now' });
    const { ids } = await session.commit();
    expect(new Set(ids).size).toBe(2);
    expect(instance.queue('orders')).toMatchObject({ ready: 1, delayed: 1, enqueued: 2, consumed: 0 });
    const committedAt = Date.now();
    const [now] = await session.dequeue('orders', { max: 2 });
    expect(now).toMatchObject({ id: ids[1] });
    const [later] = await session.dequeue('orders', { waitMs: 30_000 });
    expect(later).toMatchObject({ id: ids[0], correlationId: 'c', deliveryCount: 1 });
    expect(Date.now()).toBeGreaterThanOrEqual(committedAt + 40);
    await session.commit();
    expect(instance.queue('orders')).toMatchObject({ ready: 0, delayed: 0, enqueued: 2, consumed: 2 });
  });

  it('is counted once its group is durable, before any caller of the group goes on', async () => {
    const instance = await openTestInstance();
    for (const name of ['orders', 'others']) await instance.createQueue({ name });
    const [first, second] = [instance.openSession(), instance.openSession()];
    // As many operations as callers of one turn may have had: the second caller is resumed in the next one.
    for (let i = 0; i < limits.resumedOperationsPerTurnMax; i += 1) first.enqueue('others', { payload: 'x' });
    second.enqueue('orders', { payload: 'later', delayMs: 60_000 });
    const seen: string[] = [];
    await Promise.all([
      first.commit().then(() => seen.push(`first: ${instance.queue('orders').delayed}`)),
      second.commit().then(() => seen.push('second')),
    ]);
    expect(seen).toEqual(['first: 1', 'second']);
  });

  it('becomes due without a commit of a session', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'later', delayMs: 1 });
    await session.commit();
    expect(await session.dequeue('orders', { waitMs: 30_000 })).toHaveLength(1);
    expect(instance.stats().commits).toBe(1);
    expect(instance.waits.snapshot().find(({ event }) => event === 'log file sync')!.waits).toBe(1);
  });

  it('is never delivered if its transaction was rolled back', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'never', delayMs: 1 });
    await session.rollback();
    session.enqueue('orders', { payload: 'marker', delayMs: 20 });
    await session.commit();
    expect(text(await session.dequeue('orders', { waitMs: 30_000, max: 2 }))).toEqual(['marker']);
  });

  it('is delivered in the order of due times, whatever the order of the commits', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    for (const delayMs of [90, 30, 60]) session.enqueue('orders', { payload: String(delayMs), delayMs });
    await session.commit();
    const seen: string[] = [];
    while (seen.length < 3) seen.push(...text(await session.dequeue('orders', { waitMs: 30_000 })));
    expect(seen).toEqual(['30', '60', '90']);
  });

  it('survives a restart, and is due at once if its time passed meanwhile', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'orders' });
    const session = before.openSession();
    session.enqueue('orders', { payload: 'soon', delayMs: 1 });
    session.enqueue('orders', { payload: 'in a year', delayMs: 365 * 24 * 3_600_000 });
    await before.close(); // The open transaction is rolled back.
    const between = await openInstance({ dir });
    const again = between.openSession();
    again.enqueue('orders', { payload: 'soon', delayMs: 30 });
    again.enqueue('orders', { payload: 'in a year', delayMs: 365 * 24 * 3_600_000 });
    await again.commit();
    await between.close();
    const after = await openTestInstance({ dir });
    expect(text(await after.openSession().dequeue('orders', { waitMs: 30_000, max: 5 }))).toEqual(['soon']);
    expect(after.queue('orders')).toMatchObject({ delayed: 1, held: 1 });
  });

  it('of a topic is kept for its subscribers, though nothing else of the topic is stored when it becomes due', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'news', type: 'topic' });
    await before.subscribe('news', { name: 'ann' });
    const session = before.openSession();
    session.enqueue('news', { payload: 'later', delayMs: 500 });
    await session.commit();
    const dueAtMs = Date.now() + 500;
    expect(before.queue('news').delayed).toBe(1);
    await before.close();
    await expect.poll(() => Date.now()).toBeGreaterThan(dueAtMs);
    // Its move to the topic would come before the subscribers of the catalog are applied.
    const after = await openTestInstance({ dir });
    const messages = await after.openSession().dequeue('news', { subscriber: 'ann', waitMs: 10_000 });
    expect(text(messages)).toEqual(['later']);
  });

  it('is deleted with its queue', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'orders' });
    const session = before.openSession();
    session.enqueue('orders', { payload: 'x', delayMs: 60_000 });
    await session.commit();
    await before.dropQueue('orders');
    await before.createQueue({ name: 'orders' });
    await before.close();
    const after = await openTestInstance({ dir });
    expect(after.queue('orders')).toMatchObject({ delayed: 0, enqueued: 0 });
  });

  it('is refused if its queue was dropped before the commit, and deleted if both happen at once', async () => {
    const instance = (await openTestInstance()) as LocalInstance;
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'x', delayMs: 60_000 });
    await instance.dropQueue('orders');
    await expect(session.commit()).rejects.toThrow(code('QUEUE_DROPPED'));
    await instance.createQueue({ name: 'orders' });
    session.enqueue('orders', { payload: 'x', delayMs: 60_000 });
    await Promise.all([session.commit(), instance.dropQueue('orders')]);
    expect(instance.isEmpty).toBe(true);
  });

  it('is searched again if it became due during a search that may have missed it', async () => {
    const searches: ((found: DueMessages) => void)[] = [];
    let timersFired = 0;
    const after = (ms: number, callback: () => void) =>
      nodePorts.timers.after(ms, () => {
        timersFired += 1;
        callback();
      });
    const delayed = new DelayedMessages({
      groupCommit: undefined as never, // This search finds no rows, so nothing is committed.
      slab: undefined as never,
      payloads: undefined as never,
      timers: { ...nodePorts.timers, after },
      delayClock: new DelayClock(nodePorts.clock, { moment: null, lastEnqueuedAtMs: null }),
      firstId: 0,
      counts: new Map(),
      nextDueAtMs: Date.now(),
      readDue: () => new Promise((resolve) => searches.push(resolve)),
      logOf: () => undefined,
    });
    await expect.poll(() => searches.length).toBe(1);
    const firedBefore = timersFired;
    const due = { dueAtMs: Date.now(), delayedId: 1, queueId: 1, shard: 100, record: new Uint8Array() };
    delayed.add([due]);
    await expect.poll(() => timersFired).toBe(firedBefore + 1);
    searches[0]!({ rows: [], nextDueAtMs: null });
    await expect.poll(() => searches.length).toBe(2);
    searches[1]!({ rows: [], nextDueAtMs: null });
    await delayed.close();
  });

  it('is refused where delays are not supported, or past their bounds', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'volatile', durability: 'memory' });
    await instance.createQueue({ name: 'table', kind: 'unsharded' });
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    for (const queue of ['volatile', 'table']) {
      expect(() => session.enqueue(queue, { payload: 'x', delayMs: 5 })).toThrow(code('MESSAGE_INVALID'));
    }
    for (const delayMs of [-1, 0.5, Number.NaN, 500 * 24 * 3_600_000]) {
      expect(() => session.enqueue('orders', { payload: 'x', delayMs })).toThrow(code('MESSAGE_INVALID'));
    }
  });
});
