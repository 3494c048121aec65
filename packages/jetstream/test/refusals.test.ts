/** What the store refuses by name, as the local engine does, and what it says of the queues that it drops. */
import { openQueue } from '@shardlab/engine';
import { expect, it } from 'vitest';
import { openJetStream } from '../src/index.ts';
import { describeOnServers } from './servers.ts';

const options = (word: string) =>
  expect.objectContaining({ code: 'OPTIONS_INVALID', message: expect.stringContaining(word) });

it('an unknown option, and one that is missing, is refused before any server is asked', async () => {
  const open = (given: object) => openJetStream(given as Parameters<typeof openJetStream>[0]);
  for (const [given, word] of [
    [{ servers: 'nats://127.0.0.1:1', nonsense: 1 }, 'nonsense'],
    [{}, 'servers'],
    [{ servers: [''] }, 'servers'],
    [{ servers: 'nats://127.0.0.1:1', sync: 'sometimes' }, 'sync'],
    [{ servers: 'nats://127.0.0.1:1', replicas: 2 }, 'replicas'],
    [{ servers: 'nats://127.0.0.1:1', callMs: '5' }, 'callMs'],
  ] as const)
    await expect(open(given)).rejects.toThrow(options(word));
});

describeOnServers('a store', { servers: 1 }, (servers) => {
  it('refuses unknown fields, and missing and empty arguments', async () => {
    const store = await servers.open();
    await store.createQueue({ name: 'q' });
    const session = store.openSession();
    const odd = { nonsense: 1 } as object;
    const message = { payload: 'x', ...odd };
    expect(() => session.enqueue('q', message)).toThrow('A message has no field nonsense');
    for (const name of [undefined, '', null] as unknown as string[]) {
      expect(() => session.enqueue(name, { payload: 'x' })).toThrow(options('queue'));
      await expect(session.dequeue(name)).rejects.toThrow(options('queue'));
      await expect(store.queue(name)).rejects.toThrow(options('queue'));
      await expect(store.dropQueue(name)).rejects.toThrow(options('queue'));
    }
    await expect(session.dequeue('q', odd)).rejects.toThrow(options('nonsense'));
    await expect(session.receive('q', odd)).rejects.toThrow(options('nonsense'));
    await expect(session.commit(odd)).rejects.toThrow(options('nonsense'));
    await expect(store.browse('q', odd)).rejects.toThrow(options('nonsense'));
    await expect(store.stopQueue('q', odd)).rejects.toThrow(options('nonsense'));
    await expect(store.dropQueue('q', odd)).rejects.toThrow(options('nonsense'));
    expect(() => store.openSession(odd)).toThrow(options('nonsense'));
    await expect(store.createQueue({ name: 'r', ...odd })).rejects.toMatchObject({
      code: 'QUEUE_SPEC_INVALID',
      details: { field: 'nonsense' },
    });
    await expect(store.createQueue({ name: 'r', cacheBytesMax: 1_000 })).rejects.toMatchObject({
      code: 'QUEUE_SPEC_INVALID',
      details: { field: 'cacheBytesMax' },
    });
    expect((await store.queues()).map(({ name, enqueueEnabled }) => [name, enqueueEnabled])).toEqual([
      ['q', true],
    ]);
    await session.commit();
    expect((await store.queue('q')).ready).toBe(0);
    await store.dropQueue('q');
    await store.close();
  });

  it('opens a queue with the settings that it has, or says which differ', async () => {
    const open = (settings: object) =>
      openQueue({ nats: [...servers.cluster.urls], name: 'settled', ...settings });
    await (await open({ shards: 2, attemptsMax: 3 })).close();
    await (await open({ shards: 2, attemptsMax: 3 })).close();
    await (await open({})).close();
    await expect(open({ shards: 3, attemptsMax: 3 })).rejects.toMatchObject({
      code: 'QUEUE_SETTINGS_DIFFER',
      details: { settings: [{ name: 'shards', given: 3, actual: 2 }] },
    });
  });

  it('drops an exception queue with its queue, unless messages would be lost', async () => {
    const store = await servers.open();
    await store.createQueue({ name: 'failing', attemptsMax: 1 });
    await store.dropQueue('failing');
    await store.createQueue({ name: 'failing', attemptsMax: 1 });
    const session = store.openSession();
    session.enqueue('failing', { payload: 'poison' });
    await session.commit();
    await session.dequeue('failing', { waitMs: 20_000 });
    await session.rollback();
    expect(await session.dequeue('failing.exceptions', { waitMs: 20_000 })).toHaveLength(1);
    await session.rollback();
    await expect(store.dropQueue('failing')).rejects.toMatchObject({
      code: 'EXCEPTION_QUEUE_NOT_EMPTY',
      details: { exceptionQueue: 'failing.exceptions', messages: 1 },
    });
    expect((await store.queues()).map(({ name }) => name)).toContain('failing');
    await store.dropQueue('failing', { withExceptions: true });
    expect((await store.queues()).filter(({ name }) => name.startsWith('failing'))).toEqual([]);
    await store.close();
  });
});
