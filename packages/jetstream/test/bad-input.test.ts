/** Invalid servers, streams and requests are refused with a typed error each, and nothing is lost. */
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it, vi } from 'vitest';
import { text } from '../../engine/test/folder.ts';
import { openJetStream } from '../src/index.ts';
import { NatsCluster } from '../src/servers/index.ts';
import { openLossyProxy } from './lossy-proxy.ts';
import { describeOnServers } from './servers.ts';

const code = (expected: string) => expect.objectContaining({ code: expected });
const oldServer = '/usr/sbin/nats-server';

describeOnServers('one server', { servers: 1 }, (servers) => {
  const options = () => ({ servers: [...servers.cluster.urls] });

  it('is refused if it does not run, as is an option out of its range', async () => {
    await expect(openJetStream({ servers: 'nats://127.0.0.1:1', callMs: 300 })).rejects.toThrow(
      code('INSTANCE_UNREACHABLE'),
    );
    await expect(openJetStream({ ...options(), outcomeMs: 60_000 })).rejects.toThrow(code('OPTIONS_INVALID'));
  });

  it('has streams that the store did not create and does not change', async () => {
    const connection = await connect(options());
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: 'SHARDLAB_theirs', subjects: ['theirs'] });
    await manager.streams.add({ name: 'other', subjects: ['shardlab.subjects.>'] });
    const store = await servers.open();
    for (const name of ['theirs', 'subjects']) {
      await expect(store.createQueue({ name })).rejects.toThrow(code('STREAM_FOREIGN'));
    }
    await expect(store.dropQueue('theirs')).rejects.toThrow(code('STREAM_FOREIGN'));
    await expect(store.openSession().dequeue('theirs')).rejects.toThrow(code('STREAM_FOREIGN'));
    expect((await store.queues()).map(({ name }) => name)).not.toContain('theirs');
    await store.close();
    expect((await manager.streams.info('SHARDLAB_theirs')).config.subjects).toEqual(['theirs']);
    await connection.close();
  });

  it('refuses unsupported calls and invalid queues before anything is done', async () => {
    const store = await servers.open();
    await store.createQueue({ name: 'orders' });
    await store.createQueue({ name: 'mails' });
    await store.createQueue({ name: 'small', bytesMax: 10_000 });
    await store.createQueue({ name: 'news', type: 'topic' });
    const session = store.openSession();
    const unsupported = code('FEATURE_UNSUPPORTED');
    for (const spec of [
      { kind: 'unsharded' as const },
      { priorities: true },
      { retentionMs: 1_000 },
      { visibility: 'immediate' as const, durability: 'memory' as const },
      { durability: 'durable' as const },
    ]) {
      await expect(store.createQueue({ name: 'refused', ...spec })).rejects.toThrow(unsupported);
    }
    await expect(store.createQueue({ name: 'many', replicas: 3 })).rejects.toThrow(
      code('REPLICAS_UNAVAILABLE'),
    );
    await expect(store.createQueue({ name: 'orders' })).rejects.toThrow(code('QUEUE_EXISTS'));
    await expect(store.createQueue({ name: '1' })).rejects.toThrow(code('QUEUE_SPEC_INVALID'));
    expect(() => session.execute('SELECT 1')).toThrow(unsupported);
    await expect(session.query('SELECT 1')).rejects.toThrow(unsupported);
    await expect(session.enqueueNow('orders', { payload: '' })).rejects.toThrow(unsupported);
    await expect(session.dequeueNow('orders')).rejects.toThrow(unsupported);
    await expect(session.enqueueStream('orders', { payload: Readable.from([]) })).rejects.toThrow(
      unsupported,
    );
    await expect(session.openConsumer('orders')).rejects.toThrow(unsupported);
    expect(() => session.openProducer('orders')).toThrow(unsupported);
    await expect(store.browse('news')).rejects.toThrow(unsupported);
    expect(() => session.enqueue('orders', { payload: '', priority: 1 })).toThrow(unsupported);
    for (const [queue, delayMs] of [
      ['news', 1_000],
      ['small', 1_000],
    ] as const) {
      session.enqueue(queue, { payload: '', delayMs });
      await expect(session.commit()).rejects.toThrow(unsupported);
    }
    session.enqueue('orders', { payload: 'a' });
    await expect(session.commit({ idempotencyKey: 'k' })).rejects.toThrow(unsupported);
    session.enqueue('orders', { payload: 'a' });
    session.enqueue('mails', { payload: 'b' });
    await expect(session.commit()).rejects.toThrow(unsupported);
    expect((await store.browse('orders')).messages).toEqual([]);
    session.enqueue('orders', { payload: 'a' });
    await session.commit();
    const [order] = await session.dequeue('orders');
    session.enqueue('orders', { payload: order!.payload });
    await expect(session.commit()).rejects.toThrow(unsupported);
    // The refused transaction is rolled back.
    expect(text(await session.dequeue('orders', { waitMs: 20_000 }))).toEqual(['a']);
    await session.commit();
    for (let count = 0; count <= 1_000; count += 1) session.enqueue('orders', { payload: '' });
    await expect(session.commit()).rejects.toThrow(code('TX_TOO_LARGE'));
    await store.close();
  });

  it('refuses messages that are too large, or past the bytes of a queue', async () => {
    const store = await servers.open();
    await store.createQueue({ name: 'full', bytesMax: 10_000 });
    const session = store.openSession();
    session.enqueue('full', { payload: 'x'.repeat(8_000) });
    await session.commit();
    for (const payload of ['y'.repeat(3_000), 'z'.repeat(20_000)]) {
      session.enqueue('full', { payload });
      await expect(session.commit()).rejects.toThrow(code('STORAGE_FULL'));
    }
    session.enqueue('full', { payload: 'p'.repeat(1_500) });
    session.enqueue('full', { payload: 'q'.repeat(1_500) });
    await expect(session.commit()).rejects.toThrow(code('STORAGE_FULL'));
    expect((await store.browse('full')).messages).toHaveLength(1);
    await session.dequeue('full');
    await session.commit();
    session.enqueue('full', { payload: 'room' });
    await session.commit();
    expect(text(await session.dequeue('full', { waitMs: 20_000 }))).toEqual(['room']);
    await store.close();
  });

  it('reports a dropped queue, which is not taken for an empty one', async () => {
    const store = await servers.open();
    await store.createQueue({ name: 'gone' });
    const session = store.openSession();
    const waiting = expect(session.dequeue('gone', { waitMs: 60_000 })).rejects.toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^QUEUE_/) }),
    );
    const other = await servers.open();
    await other.dropQueue('gone');
    await waiting;
    await vi.waitFor(() => expect(session.dequeue('gone')).rejects.toThrow(code('QUEUE_NOT_FOUND')), {
      timeout: 20_000,
    });
    session.enqueue('gone', { payload: '' });
    await expect(session.commit()).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    await store.close();
    await other.close();
  });

  it.for([1, 3])(
    'lets a session learn the outcome of a commit of %i messages whose answer was lost',
    async (count) => {
      const proxy = await openLossyProxy(servers.cluster.urls[0]!);
      const store = await openJetStream({ servers: proxy.url });
      const queue = `answer-lost-${count}`;
      await store.createQueue({ name: queue });
      const session = store.openSession();
      for (let part = 0; part < count; part += 1) session.enqueue(queue, { payload: String(part) });
      const direct = await servers.open();
      await store.queue(queue);
      proxy.swallowAnswers();
      const committing = session.commit();
      await vi.waitFor(async () => expect((await direct.browse(queue)).messages).toHaveLength(count), {
        timeout: 20_000,
      });
      proxy.cut();
      expect((await committing).ids).toHaveLength(count);
      expect((await direct.browse(queue)).messages).toHaveLength(count);
      await direct.close();
      await store.close();
      await proxy.close();
    },
  );

  it('lets an enqueue and a consumption fail with an unknown outcome if it cannot be learned', async () => {
    const proxy = await openLossyProxy(servers.cluster.urls[0]!);
    const [store, direct] = [
      await openJetStream({ servers: proxy.url, outcomeMs: 1_000 }),
      await servers.open(),
    ];
    await store.createQueue({ name: 'unknown' });
    const [producer, consumer] = [store.openSession(), store.openSession()];
    producer.enqueue('unknown', { payload: 'first' });
    await producer.commit();
    const [held] = await consumer.dequeue('unknown');
    producer.enqueue('unknown', { payload: 'second' });
    proxy.swallowAnswers();
    const commits = [producer.commit(), consumer.commit()].map((commit) =>
      expect(commit).rejects.toThrow(code('COMMIT_OUTCOME_UNKNOWN')),
    );
    await vi.waitFor(async () => expect((await direct.queue('unknown')).consumed).toBe(1), {
      timeout: 20_000,
    });
    proxy.cut({ forGood: true });
    await Promise.all(commits);
    expect(text((await direct.browse('unknown')).messages)).toEqual(['second']);
    expect(held!.payload.toString()).toBe('first');
    await direct.close();
    await proxy.close();
    await store.close();
  });
});

describeOnServers(
  'a server with users',
  { servers: 1, configuration: 'authorization { users = [{ user: "ann", password: "right" }] }' },
  (servers) => {
    it('refuses other credentials', async () => {
      const own = { user: 'ann', password: 'right' };
      await (await servers.open(own)).close();
      for (const wrong of [{}, { ...own, password: 'wrong' }, { token: 'ann' }]) {
        await expect(servers.open(wrong)).rejects.toThrow(code('STORE_UNAUTHORIZED'));
      }
    });
  },
);

describeOnServers('an old server', { servers: 1 }, () => {
  it.skipIf(!existsSync(oldServer))(`such as Debian's ${oldServer} is refused`, async ({ skip }) => {
    const cluster = await NatsCluster.start({ program: oldServer, servers: 1 });
    try {
      const opening = openJetStream({ servers: [...cluster.urls] });
      const error = await opening.then(
        () => undefined,
        (refusal: unknown) => refusal,
      );
      if (error === undefined) skip('that server is new enough');
      expect(error).toEqual(code('STORE_TOO_OLD'));
    } finally {
      await cluster.stop();
    }
  });
});
