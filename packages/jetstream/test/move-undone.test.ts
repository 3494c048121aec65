/** A move that fails is undone: the queue is used where it was, with all of its messages, and nothing is left at the other place. */
import { type Instance, openInstance, QueueError } from '@shardlab/engine';
import { expect, it, onTestFinished } from 'vitest';
import { makeFolder, text } from '../../engine/test/folder.ts';
import { type LocalQueues, type MoveStep, moveToJetStream, moveToLocal } from '../src/index.ts';
import { describeOnServers } from './servers.ts';

const failure = () => new QueueError('STORAGE_FAILED', { message: 'planted' });
const undoable: MoveStep[] = ['stop', 'drain', 'create', 'copy', 'check', 'switch'];
const payloads = ['one', 'two', 'three'];

async function openLocal(): Promise<Instance> {
  const local = await openInstance({ dir: makeFolder() });
  onTestFinished(() => local.close());
  return local;
}

/** The same queues, with a browse that fails from the given one on. */
function failingBrowse(local: Instance, from: number): LocalQueues {
  let browses = 0;
  return new Proxy(local, {
    get(target, name) {
      if (name !== 'browse') {
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return async (...args: Parameters<Instance['browse']>) => {
        browses += 1;
        if (browses >= from) throw failure();
        return target.browse(...args);
      };
    },
  });
}

describeOnServers('a move that fails', { servers: 1 }, (servers) => {
  const there = (local: LocalQueues, queue: string, failAt?: MoveStep) =>
    moveToJetStream({
      servers: [...servers.cluster.urls],
      local,
      queue,
      onStep: (step) => {
        if (step === failAt) throw failure();
      },
    });
  const back = (local: LocalQueues, queue: string, failAt?: MoveStep) =>
    moveToLocal({
      servers: [...servers.cluster.urls],
      local,
      queue,
      onStep: (step) => {
        if (step === failAt) throw failure();
      },
    });

  it('to the servers leaves the local queue as it was, at each step, and can be repeated', {
    timeout: 120_000,
  }, async () => {
    const local = await openLocal();
    const store = await servers.open();
    await local.createQueue({ name: 'undone', durability: 'relaxed', attemptsMax: 3 });
    const session = local.openSession();
    for (const payload of payloads) session.enqueue('undone', { payload });
    await session.commit();
    await local.stopQueue('undone', { enqueue: true });
    const before = local.queues();
    for (const step of undoable) {
      await expect(there(local, 'undone', step)).rejects.toThrow('planted');
      expect([step, local.queues()]).toEqual([step, before]);
      expect([step, await store.queues()]).toEqual([step, []]);
    }
    // The check before the stop browses both queues, then the copy does.
    for (const browse of [1, 3, 5]) {
      await expect(there(failingBrowse(local, browse), 'undone')).rejects.toThrow('planted');
      expect([browse, local.queues(), await store.queues()]).toEqual([browse, before, []]);
    }
    await there(local, 'undone');
    expect(local.queues()).toEqual([]);
    expect(text((await store.browse('undone')).messages)).toEqual(payloads);
    for (const name of ['undone']) await store.dropQueue(name);
    await store.close();
  });

  it('because a name is taken at the servers stops nothing', async () => {
    const local = await openLocal();
    const store = await servers.open();
    await local.createQueue({ name: 'taken', durability: 'relaxed', attemptsMax: 3 });
    const before = local.queues();
    const steps: MoveStep[] = [];
    for (const name of ['taken', 'taken.exceptions']) {
      await store.createQueue({ name });
      for (const _attempt of [1, 2]) {
        const moved = moveToJetStream({
          servers: [...servers.cluster.urls],
          local,
          queue: 'taken',
          onStep: (step) => void steps.push(step),
        });
        await expect(moved).rejects.toMatchObject({ code: 'QUEUE_EXISTS', details: { queue: name } });
        expect(local.queues()).toEqual(before);
      }
      await store.dropQueue(name);
    }
    expect(steps).toEqual([]);
    await expect(there(local, 'taken.exceptions')).rejects.toMatchObject({
      code: 'QUEUE_IN_USE',
      details: { user: 'taken' },
    });
    await store.close();
  });

  it('because of a streamed payload stops nothing', async () => {
    const local = await openLocal();
    await local.createQueue({ name: 'streams', durability: 'relaxed' });
    const session = local.openSession();
    await session.enqueueStream('streams', {
      payload: (async function* () {
        for (let piece = 0; piece < 3; piece += 1) yield Buffer.alloc(256 * 1024);
      })(),
    });
    await session.commit();
    const before = local.queues();
    await expect(there(local, 'streams')).rejects.toMatchObject({ code: 'FEATURE_UNSUPPORTED' });
    expect(local.queues()).toEqual(before);
  });

  it('because messages are held goes on, and a consumed copy of a move that was killed is not brought back', async () => {
    const local = await openLocal();
    const store = await servers.open();
    await local.createQueue({ name: 'held', durability: 'relaxed' });
    const session = local.openSession();
    for (const payload of payloads) session.enqueue('held', { payload });
    await session.commit();
    await session.dequeue('held');
    const held = moveToJetStream({
      servers: [...servers.cluster.urls],
      local,
      queue: 'held',
      drainMsMax: 10,
    });
    await expect(held).rejects.toMatchObject({ code: 'QUEUE_NOT_DRAINED' });
    expect(local.queue('held')).toMatchObject({ enqueueEnabled: true, dequeueEnabled: true });
    await session.rollback();

    const stop = new AbortController();
    const interrupted = moveToJetStream({
      servers: [...servers.cluster.urls],
      local,
      queue: 'held',
      signal: stop.signal,
      onStep: (step) => {
        if (step === 'check') stop.abort();
      },
    });
    await expect(interrupted)
      .resolves.toBeUndefined()
      .catch(() => undefined);
    expect(local.queue('held')).toMatchObject({ enqueueEnabled: false, ready: 3 });
    await local.startQueue('held');
    expect(text(await session.dequeue('held'))).toEqual(['one']);
    await session.commit();
    await there(local, 'held');
    expect(text((await store.browse('held')).messages)).toEqual(['two', 'three']);
    await store.dropQueue('held');
    await store.close();
  });

  it('back leaves the stream as it was, at each step, and can be repeated', {
    timeout: 120_000,
  }, async () => {
    const local = await openLocal();
    const store = await servers.open();
    await store.createQueue({ name: 'kept', attemptsMax: 3 });
    const session = store.openSession();
    for (const payload of payloads) session.enqueue('kept', { payload });
    await session.commit();
    const state = async () =>
      (await store.queues())
        .map(({ name, ready, enqueueEnabled, dequeueEnabled }) => ({
          name,
          ready,
          enqueueEnabled,
          dequeueEnabled,
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    const before = await state();
    for (const step of undoable) {
      await expect(back(local, 'kept', step)).rejects.toThrow('planted');
      expect([step, await state(), local.queues()]).toEqual([step, before, []]);
    }
    await expect(back(failingBrowse(local, 1), 'kept')).rejects.toThrow('planted');
    expect(await state()).toEqual(before);
    const copies = local.queues().map(({ name }) => name);
    for (const name of copies.includes('kept') ? ['kept'] : []) await local.dropQueue(name);
    await back(local, 'kept');
    expect(text((await local.browse('kept')).messages)).toEqual(payloads);
    expect(await store.queues()).toEqual([]);
    await store.close();
  });
});
