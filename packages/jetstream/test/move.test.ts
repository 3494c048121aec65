/** A queue that moves from the local engine to servers, by processes that are killed at each of its steps. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openInstance } from '@shardlab/engine';
import { expect, it } from 'vitest';
import { makeFolder, text } from '../../engine/test/folder.ts';
import { moveSteps, moveToJetStream } from '../src/index.ts';
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
  it('killed at each step loses and doubles nothing, and keeps the order of each key', {
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
      expect([killAt, await runMove(dir, url, 'orders', killAt)]).toEqual([killAt, 'SIGKILL']);
    }
    for (const run of ['resumed', 'repeated'])
      expect([run, await runMove(dir, url, 'orders', 'none')]).toEqual([run, 0]);

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

  it('refuses what the servers cannot keep, and a queue that is held or of the same name', async () => {
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
    // One that was created since is another queue: it is neither copied nor dropped.
    await local.createQueue({ name: 'held', durability: 'relaxed' });
    session.enqueue('held', { payload: 'new' });
    await session.commit();
    await expect(move('held')).rejects.toThrow(code('QUEUE_EXISTS'));
    expect(local.queue('held').ready).toBe(1);
    await store.close();
    await local.close();
  });
});
