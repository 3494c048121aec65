/** The engine's own entry points to a queue on servers: `openQueue` and `connectCluster`. */
import { connectCluster, exceptionProperties, type Message, openQueue } from '@shardlab/engine';
import { expect, it, vi } from 'vitest';
import { openNatsStore } from '../../engine/src/runtime/open-nats-store.ts';
import { describeOnServers } from './servers.ts';

it('the error names the missing package if the store is not installed', async () => {
  await expect(openNatsStore({ nats: 'nats://127.0.0.1:1' }, '@shardlab/not-installed')).rejects.toThrow(
    expect.objectContaining({
      code: 'STORE_NOT_INSTALLED',
      details: { package: '@shardlab/not-installed' },
      message: expect.stringContaining('npm install @shardlab/not-installed'),
    }),
  );
});

describeOnServers('a queue opened by the engine', { servers: 1 }, (servers) => {
  it('has the calls of a local queue, and takes more messages than fit into one transaction of the servers', async () => {
    const nats = [...servers.cluster.urls];
    const open = () => openQueue({ nats, name: 'opened', shards: 1 });
    const [queue, other] = await Promise.all([open(), open()]);
    const calls = Array.from({ length: 30 }, (_, call) =>
      queue.enqueue(Array.from({ length: 100 }, (_unused, index) => ({ payload: `${call * 100 + index}` }))),
    );
    expect(new Set((await Promise.all(calls)).flat()).size).toBe(3_000);
    expect(await other.info()).toMatchObject({ name: 'opened', durability: 'relaxed', enqueued: 3_000 });
    const seen: number[] = [];
    const stop = new AbortController();
    await other.consume(
      ({ payload }) => {
        seen.push(Number(payload.toString()));
        if (seen.length === 300) stop.abort();
      },
      { signal: stop.signal },
    );
    expect(seen).toEqual(Array.from({ length: 300 }, (_, index) => index));
    await Promise.all([queue.close(), other.close()]);
  });

  it.each([
    [1, 1],
    [8, 8],
  ])('is not stopped by messages whose handler fails: %i handlers, %i bad', async (concurrency, bad) => {
    const name = `poisoned-${concurrency}`;
    const queue = await openQueue({ nats: [...servers.cluster.urls], name, attemptsMax: 2, retryDelayMs: 1 });
    const payloads = [...Array(bad).fill('bad'), ...Array.from({ length: 200 }, (_, i) => `good ${i}`)];
    await queue.enqueue(payloads.map((payload: string) => ({ payload })));
    const done: string[] = [];
    let failures = 0;
    const stop = new AbortController();
    const consuming = queue.consume(
      ({ payload }) => {
        if (payload.toString() === 'bad') throw new RangeError('no such customer');
        done.push(payload.toString());
      },
      { concurrency, signal: stop.signal, onError: () => (failures += 1) },
    );
    const session = queue.openSession();
    const moved: Message[] = [];
    while (moved.length < bad)
      moved.push(...(await session.dequeue(`${name}.exceptions`, { max: bad, waitMs: 20_000 })));
    await session.commit();
    await vi.waitFor(() => expect(done).toHaveLength(200), { timeout: 60_000 });
    stop.abort();
    await consuming;
    expect(new Set(done).size).toBe(200);
    expect(failures).toBe(bad * 2);
    for (const { properties } of moved)
      expect(properties).toMatchObject({
        [exceptionProperties.errorName]: 'RangeError',
        [exceptionProperties.attemptsEndedAt]: expect.stringMatching(/^\["20.*Z","20.*Z"\]$/),
      });
    await queue.close();
  });

  it('rejects a message at once, to an exception queue that is created then', async () => {
    const queue = await openQueue({ nats: [...servers.cluster.urls], name: 'rejecting' });
    expect(await queue.info()).toMatchObject({ attemptsMax: 5, exceptionQueue: null });
    await queue.enqueue({ payload: 'bad' });
    const session = queue.openSession();
    await session.dequeue('rejecting', { waitMs: 20_000 });
    await session.rollback({ reject: true });
    expect(await queue.info()).toMatchObject({ exceptionQueue: 'rejecting.exceptions' });
    const [moved] = await session.dequeue('rejecting.exceptions', { waitMs: 20_000 });
    expect(moved!.properties).toMatchObject({
      [exceptionProperties.reason]: 'rejected by its consumer, delivered once',
    });
    await queue.close();
  });

  it('can be created and listed by a client of all queues', async () => {
    const store = await connectCluster({ nats: [...servers.cluster.urls] });
    await store.createQueue({ name: 'of-client' });
    expect(store.capabilities.sqlRows).toEqual({ support: 'no' });
    expect((await store.queues()).map(({ name }) => name)).toContain('of-client');
    await store.close();
  });

  it('shows no credentials in the error of a specification', async () => {
    const opening = openQueue({ nats: [...servers.cluster.urls], name: '1', password: 'secret' });
    const error = await opening.then(
      () => undefined,
      (refusal: unknown) => refusal,
    );
    expect(error).toMatchObject({ code: 'QUEUE_SPEC_INVALID' });
    expect(JSON.stringify(error)).not.toContain('secret');
  });
});
