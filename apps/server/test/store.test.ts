/** The API with queues on NATS servers: the features that work, and those that are refused. */
import type {
  Dequeued,
  Enqueued,
  ErrorBody,
  Health,
  QueueHistory,
  QueueInfo,
  Redriven,
  StoreInfo,
} from '@shardlab/contract';
import { storeFeatures } from '@shardlab/engine';
import { expect, it } from 'vitest';
import { describeOnServers } from '../../../packages/jetstream/test/servers.ts';
import { readConfig } from '../src/config.ts';
import { startApp } from './start-app.ts';

it('has all features with the local engine', async () => {
  const { body } = await (await startApp()).get<StoreInfo>('/api/store');
  expect(body).toMatchObject({ store: 'local', servers: [] });
  expect(body.features.map(({ feature }) => feature)).toEqual(Object.keys(storeFeatures));
});

it('reads the address of a store, and reports errors in it without showing the address', () => {
  expect(readConfig({ STORE: 'nats://ann:secret@a:4222,nats://b:4222?replicas=3&sync=always' }).nats).toEqual(
    {
      nats: ['nats://a:4222', 'nats://b:4222'],
      user: 'ann',
      password: 'secret',
      replicas: 3,
      sync: 'always',
    },
  );
  expect(readConfig({ STORE: 'tls://a?ca=/ca.pem&creds=/a.creds' }).nats).toEqual({
    nats: ['tls://a'],
    tls: { caFile: '/ca.pem' },
    credentialsFile: '/a.creds',
  });
  expect(readConfig({}).nats).toBe(null);
  for (const STORE of [
    'redis://ann:secret@a',
    'nats://ann:secret@a?replicas=2',
    'nats://ann:secret@a?x=1',
    'nats://',
  ]) {
    expect(() => readConfig({ STORE })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('secret') }),
    );
  }
});

describeOnServers('a server whose queues are on NATS', { servers: 1 }, (servers) => {
  const start = () => startApp({ nats: { nats: [...servers.cluster.urls] } });

  it('creates queues, enqueues, delivers, acknowledges, returns, browses, stops and drops', async () => {
    const app = await start();
    expect((await app.post('/api/queues', { name: 'orders', shards: 2, attemptsMax: 2 })).status).toBe(201);
    const messages = [
      { payload: 'a', groupKey: 'k' },
      { payload: 'b', groupKey: 'k', correlationId: 'c' },
    ];
    const enqueued = await app.post<Enqueued>('/api/queues/orders/messages', { messages });
    expect(enqueued.body.ids).toHaveLength(2);
    const take = () => app.post<Dequeued>('/api/queues/orders/dequeue', { waitMs: 20_000 });
    const [first] = (await take()).body.messages;
    expect(first).toMatchObject({ payload: 'a', groupKey: 'k', deliveryCount: 1 });
    expect((await app.post('/api/queues/orders/nack', { receipts: [first!.receipt] })).status).toBe(204);
    for (const round of [1, 2]) {
      const [message] = (await take()).body.messages;
      expect([
        round,
        (await app.post('/api/queues/orders/ack', { receipts: [message!.receipt] })).status,
      ]).toEqual([round, 204]);
    }
    expect((await app.get('/api/queues/orders/messages')).body).toEqual({ messages: [], next: null });
    expect((await app.get<QueueInfo>('/api/queues/orders')).body).toMatchObject({
      consumed: 2,
      durability: 'relaxed',
    });
    await app.post('/api/queues/orders/stop');
    expect(await app.post('/api/queues/orders/messages', { messages })).toMatchObject({
      status: 409,
      body: { code: 'ENQUEUE_STOPPED' },
    });
    expect((await app.remove('/api/queues/orders')).status).toBe(204);
    expect((await app.get('/api/queues')).body).toEqual({ queues: [] });
  });

  it('has topics whose subscribers get each message', async () => {
    const app = await start();
    await app.post('/api/queues', { name: 'news', type: 'topic' });
    for (const name of ['ann', 'bob']) await app.post('/api/queues/news/subscribers', { name });
    await app.post('/api/queues/news/messages', { messages: [{ payload: 'x' }] });
    for (const subscriber of ['ann', 'bob']) {
      const options = { subscriber, waitMs: 20_000, mode: 'at-most-once' };
      const { body } = await app.post<Dequeued>('/api/queues/news/dequeue', options);
      expect(body.messages.map(({ payload }) => payload)).toEqual(['x']);
    }
    await app.remove('/api/queues/news');
  });

  it('has the history of a queue, without the age of its messages', async () => {
    const app = await start();
    await app.post('/api/queues', { name: 'told' });
    await app.post('/api/queues/told/messages', { messages: [{ payload: 'x' }] });
    await expect
      .poll(async () => (await app.get<QueueHistory>('/api/queues/told/history')).body.samples, {
        timeout: 30_000,
      })
      .toContainEqual(expect.objectContaining({ depth: 1, lagMs: null }));
    await app.remove('/api/queues/told');
  });

  it('refuses what the store cannot do, and says where its queues are', async () => {
    const app = await start();
    const { body } = await app.get<StoreInfo>('/api/store');
    expect(body).toMatchObject({ store: 'nats-jetstream', servers: [...servers.cluster.urls] });
    expect(body.features.find(({ feature }) => feature === 'sqlRows')).toMatchObject({ support: 'no' });
    await app.post('/api/queues', { name: 'plain' });
    const messages = [{ payload: 'x' }];
    await app.post('/api/queues', { name: 'limited', attemptsMax: 1 });
    const refused: [answer: { status: number; body: unknown }, feature: string | undefined][] = [
      [await app.post('/api/queues', { name: 'urgent', priorities: true }), 'priorities'],
      [await app.post('/api/queues', { name: 'synced', durability: 'durable' }), 'syncedAcknowledgement'],
      [await app.post('/api/queues', { name: 'indexed', correlationIndex: true }), 'correlationIndex'],
      [await app.post('/api/queues', { name: 'flat', kind: 'unsharded' }), 'unshardedQueues'],
      [await app.post('/api/queues/limited.exceptions/redrive'), 'consumeAndEnqueue'],
      [await app.post('/api/transactions', { execute: [{ sql: 'SELECT 1' }] }), 'sqlRows'],
      [
        await app.post('/api/queues/plain/messages', { messages }, { 'idempotency-key': 'k' }),
        'idempotencyKeys',
      ],
      [await app.get('/api/queues/plain/stats'), undefined],
      [await app.post('/api/queues/plain/conversion', {}), undefined],
      [await app.put('/api/cluster/topology', { instances: 2 }), undefined],
      [await app.post('/api/cluster/instances/1/kill'), undefined],
    ];
    for (const [{ status, body: answer }, feature] of refused) {
      const { code, details } = answer as ErrorBody;
      expect([status, code, details?.feature]).toEqual([422, 'FEATURE_UNSUPPORTED', feature]);
    }
    expect((await app.get('/api/queues/plain/conversion')).body).toEqual({ conversion: null });
    expect((await app.get<QueueInfo>('/api/queues/plain')).body.enqueued).toBe(0);
    expect((await app.get('/api/cluster')).body).toMatchObject({ placement: 'store', instances: [] });
    expect((await app.get<Health>('/api/health')).body.status).toBe('ok');
    await app.remove('/api/queues/plain');
    await app.remove('/api/queues/limited');
  });

  it('moves messages back from an exception queue if it is configured to enqueue before it consumes', async () => {
    const nats = [...servers.cluster.urls];
    const app = await startApp({ nats: { nats, transactions: 'enqueue-first' } });
    const { body } = await app.get<StoreInfo>('/api/store');
    expect(body.features.find(({ feature }) => feature === 'consumeAndEnqueue')).toMatchObject({
      support: 'weaker',
    });
    await app.post('/api/queues', { name: 'again', attemptsMax: 1 });
    await app.post('/api/queues/again/messages', { messages: [{ payload: 'x', correlationId: 'c' }] });
    const take = () => app.post<Dequeued>('/api/queues/again/dequeue', { waitMs: 20_000 });
    const [failed] = (await take()).body.messages;
    await app.post('/api/queues/again/nack', { receipts: [failed!.receipt] });
    const exceptions = '/api/queues/again.exceptions';
    await expect.poll(async () => (await app.get<QueueInfo>(exceptions)).body.ready).toBe(1);
    const dry = await app.post<Redriven>(`${exceptions}/redrive`, { dryRun: true });
    expect(dry.body).toEqual({ to: 'again', messages: 1, left: 0 });
    const { status, body: moved } = await app.post<Redriven>(`${exceptions}/redrive`);
    expect([status, moved]).toEqual([200, { to: 'again', messages: 1, left: 0 }]);
    const [back] = (await take()).body.messages;
    expect(back).toMatchObject({ payload: 'x', correlationId: 'c', deliveryCount: 1 });
    expect(back!.properties ?? {}).toEqual({});
    await app.post('/api/queues/again/ack', { receipts: [back!.receipt] });
    await app.remove('/api/queues/again');
  });
});

it('does not start where no server of the store answers', async () => {
  const nats = { nats: 'nats://127.0.0.1:1', callMs: 200 };
  await expect(startApp({ nats })).rejects.toThrow(expect.objectContaining({ code: 'INSTANCE_UNREACHABLE' }));
});
