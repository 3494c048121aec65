/** Moves of a queue from the local engine to servers and back, by processes that are killed at each step. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Message, openInstance } from '@shardlab/engine';
import { expect, it } from 'vitest';
import { makeFolder, text } from '../../engine/test/folder.ts';
import { moveSteps, moveToJetStream, moveToLocal } from '../src/index.ts';
import { describeOnServers } from './servers.ts';

const program = fileURLToPath(new URL('./move-process.ts', import.meta.url));
const code = (expected: string) => expect.objectContaining({ code: expected });

function runMove(...args: string[]): Promise<NodeJS.Signals | number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', reject);
    child.once('exit', (exit, signal) => resolve(signal ?? exit));
  });
}

describeOnServers('a move to one server', { servers: 1 }, (servers) => {
  it('loses and duplicates nothing if it is killed at each step, and keeps the order of each key', {
    timeout: 180_000,
  }, async () => {
    const dir = makeFolder();
    const local = await openInstance({ dir });
    await local.createQueue({ name: 'orders', shards: 2, attemptsMax: 1, durability: 'relaxed' });
    const session = local.openSession();
    session.enqueue('orders', { payload: 'poison' });
    await session.commit();
    await session.dequeue('orders');
    await session.rollback();
    for (let count = 0; count < 1_200; count += 1) {
      session.enqueue('orders', {
        payload: `${count}`,
        groupKey: `key ${count % 7}`,
        correlationId: `c${count}`,
      });
    }
    session.enqueue('orders', { payload: 'later', delayMs: 3_600_000 });
    const { ids } = await session.commit();
    await local.close();

    const [url] = servers.cluster.urls as [string];
    const store = await servers.open();
    for (const killAt of [...moveSteps.slice(0, 4), 'page', ...moveSteps.slice(4, -1)]) {
      expect([killAt, await runMove('to-jetstream', dir, url, 'orders', killAt)]).toEqual([
        killAt,
        'SIGKILL',
      ]);
    }
    for (const run of ['resumed', 'repeated'])
      expect([run, await runMove('to-jetstream', dir, url, 'orders', 'none')]).toEqual([run, 0]);

    expect(await store.queue('orders')).toMatchObject({
      ready: 1_200,
      delayed: 1,
      shards: 2,
      attemptsMax: 1,
      enqueueEnabled: true,
    });
    expect(text((await store.browse('orders.exceptions')).messages)).toEqual(['poison']);
    const consumer = store.openSession();
    const messages = await consumer.dequeue('orders', { max: 2_000 });
    await consumer.commit();
    expect(messages.map(({ id }) => id).sort()).toEqual(ids.slice(0, 1_200).sort());
    for (let key = 0; key < 7; key += 1) {
      const ofKey = messages
        .filter(({ groupKey }) => groupKey === `key ${key}`)
        .map(({ payload }) => Number(payload));
      expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b));
    }
    await store.close();
    const emptied = await openInstance({ dir });
    expect(emptied.queues()).toEqual([]);
    await emptied.close();
  });

  it('and back loses and duplicates nothing if it is killed at each step, and keeps the order of each key', {
    timeout: 180_000,
  }, async () => {
    const dir = makeFolder();
    const store = await servers.open();
    await store.createQueue({ name: 'back', shards: 2, attemptsMax: 1 });
    const session = store.openSession();
    session.enqueue('back', { payload: 'poison' });
    await session.commit();
    await session.dequeue('back', { waitMs: 20_000 });
    await session.rollback();
    const payloads = Array.from({ length: 1_200 }, (_, count) => String(count));
    for (const part of [payloads.slice(0, 600), payloads.slice(600)]) {
      for (const payload of part) {
        const [groupKey, correlationId] = [`key ${Number(payload) % 7}`, `c${payload}`];
        session.enqueue('back', { payload, groupKey, correlationId, properties: { of: payload } });
      }
      await session.commit();
    }
    session.enqueue('back', { payload: 'soon', delayMs: 4_000 });
    session.enqueue('back', { payload: 'later', delayMs: 3_600_000 });
    await session.commit();
    const [url] = servers.cluster.urls as [string];
    for (const killAt of [...moveSteps.slice(0, 4), 'page', ...moveSteps.slice(4, -1)]) {
      expect([killAt, await runMove('to-local', dir, url, 'back', killAt)]).toEqual([killAt, 'SIGKILL']);
    }
    for (const run of ['resumed', 'repeated'])
      expect([run, await runMove('to-local', dir, url, 'back', 'none')]).toEqual([run, 0]);

    expect((await store.queues()).filter(({ name }) => name.startsWith('back'))).toEqual([]);
    await store.close();
    const local = await openInstance({ dir });
    expect(local.queue('back')).toMatchObject({
      shards: 2,
      attemptsMax: 1,
      dequeueEnabled: true,
      delayed: 1,
    });
    expect(text((await local.browse('back.exceptions')).messages)).toEqual(['poison']);
    const consumer = local.openSession();
    const next = () => consumer.dequeue('back', { max: 2_000 });
    const messages: Message[] = [];
    for (let page = await next(); page.length > 0; page = await next()) messages.push(...page);
    await consumer.commit();
    expect(text(messages).toSorted()).toEqual([...payloads, 'soon'].toSorted());
    const keyed = messages.filter(({ groupKey }) => groupKey !== undefined);
    expect(keyed.every(({ payload, properties }) => properties?.of === payload.toString())).toBe(true);
    for (let key = 0; key < 7; key += 1) {
      const ofKey = keyed
        .filter(({ groupKey }) => groupKey === `key ${key}`)
        .map(({ payload }) => Number(payload));
      expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b));
    }
    await local.close();
  });

  it('and back waits for holders, and moves ready and returned messages', async () => {
    const local = await openInstance({ dir: makeFolder() });
    const store = await servers.open({ ackWaitMs: 3_000 });
    await store.createQueue({ name: 'busy' });
    await store.createQueue({ name: 'news', type: 'topic' });
    const move = (queue: string, drainMsMax = 20_000) =>
      moveToLocal({ servers: [...servers.cluster.urls], local, queue, drainMsMax });
    await expect(move('none')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    await expect(move('news')).rejects.toThrow(code('FEATURE_UNSUPPORTED'));
    const [holder, other] = [store.openSession(), store.openSession()];
    for (const payload of ['held', 'returned', 'ready']) holder.enqueue('busy', { payload });
    await holder.commit();
    expect(text(await holder.dequeue('busy', { waitMs: 20_000 }))).toEqual(['held']);
    expect(text(await other.dequeue('busy'))).toEqual(['returned']);
    await other.rollback();
    await expect(move('busy', 300)).rejects.toThrow(code('QUEUE_NOT_DRAINED'));
    expect(local.queues()).toEqual([]);
    await local.createQueue({ name: 'busy' });
    await expect(move('busy')).rejects.toThrow(code('QUEUE_EXISTS'));
    await local.dropQueue('busy');
    const waiting = move('busy');
    await holder.commit();
    await waiting;
    const session = local.openSession();
    expect(text(await session.dequeue('busy', { max: 10 }))).toEqual(['returned', 'ready']);
    await store.close();
    await local.close();
  });

  it('is refused for a queue that the servers cannot keep, that has held messages, or whose name is taken', async () => {
    const local = await openInstance({ dir: makeFolder() });
    const store = await servers.open();
    const move = (queue: string) =>
      moveToJetStream({ servers: [...servers.cluster.urls], local, queue, drainMsMax: 100 });
    await local.createQueue({ name: 'urgent', priorities: true });
    await local.createQueue({ name: 'news', type: 'topic' });
    await local.createQueue({ name: 'synced' });
    for (const queue of ['urgent', 'news', 'synced']) {
      await expect(move(queue)).rejects.toThrow(code('FEATURE_UNSUPPORTED'));
      expect(local.queue(queue).enqueueEnabled).toBe(true);
    }
    await expect(move('none')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    await local.createQueue({ name: 'held', durability: 'relaxed' });
    const session = local.openSession();
    session.enqueue('held', { payload: '' });
    await session.commit();
    await session.dequeue('held');
    await expect(move('held')).rejects.toThrow(code('QUEUE_NOT_DRAINED'));
    await session.commit();
    await store.createQueue({ name: 'held' });
    await expect(move('held')).rejects.toThrow(code('QUEUE_EXISTS'));
    await store.dropQueue('held');
    await move('held');
    // A queue that was created after the move is another one, and is neither copied nor dropped.
    await local.createQueue({ name: 'held', durability: 'relaxed' });
    session.enqueue('held', { payload: 'new' });
    await session.commit();
    await expect(move('held')).rejects.toThrow(code('QUEUE_EXISTS'));
    expect(local.queue('held').ready).toBe(1);
    await store.close();
    await local.close();
  });
});
