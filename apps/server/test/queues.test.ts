import type { ErrorBody, QueueInfo, QueueList, WaitRegistry } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { startApp, type TestApp, untilDequeuesUnderWay } from './start-app.ts';

describe('queues', () => {
  it('are created, listed, shown and dropped', async () => {
    const { get, post, remove } = await startApp();
    const made = await post<QueueInfo>('/api/queues', { name: 'orders', shards: 2, durability: 'relaxed' });
    expect(made).toMatchObject({
      status: 201,
      headers: { location: '/api/queues/orders' },
      body: { name: 'orders', kind: 'sharded', type: 'queue', shards: 2, durability: 'relaxed', ready: 0 },
    });
    await post('/api/queues', { name: 'jobs', kind: 'unsharded', type: 'queue' });
    const { body } = await get<QueueList>('/api/queues');
    expect(body.queues.map(({ name }) => name)).toEqual(['orders', 'jobs']);
    expect((await get<QueueInfo>('/api/queues/jobs')).body).toMatchObject({
      kind: 'unsharded',
      enqueueEnabled: true,
    });
    expect((await remove('/api/queues/orders')).status).toBe(204);
    expect((await get<ErrorBody>('/api/queues/orders')).body.code).toBe('QUEUE_NOT_FOUND');
  });

  it('cannot be created twice with the same name', async () => {
    const { post } = await startApp();
    await post('/api/queues', { name: 'orders' });
    expect(await post('/api/queues', { name: 'orders' })).toMatchObject({
      status: 409,
      body: { code: 'QUEUE_EXISTS', retryable: false },
    });
  });

  it('stop and start enqueue and dequeue separately, or both without a body', async () => {
    const { post } = await startApp();
    await post('/api/queues', { name: 'q' });
    const enabled = async (url: string, body?: unknown) => {
      const answer = await post<QueueInfo>(url, body);
      return [answer.body.enqueueEnabled, answer.body.dequeueEnabled];
    };
    expect(await enabled('/api/queues/q/stop', { dequeue: true })).toEqual([true, false]);
    expect(await enabled('/api/queues/q/stop')).toEqual([false, false]);
    expect(await enabled('/api/queues/q/start', { enqueue: true })).toEqual([true, false]);
    expect(await enabled('/api/queues/q/start', {})).toEqual([true, true]);
  });

  it('refuse the calls for which they were stopped, and keep their messages', async () => {
    const { post, get } = await startApp();
    await post('/api/queues', { name: 'q' });
    await post('/api/queues/q/messages', { messages: [{ payload: 1 }] });
    await post('/api/queues/q/stop');
    expect(await post('/api/queues/q/dequeue', {})).toMatchObject({
      status: 409,
      body: { code: 'DEQUEUE_STOPPED', retryable: true },
    });
    expect(await post('/api/queues/q/messages', { messages: [{ payload: 2 }] })).toMatchObject({
      status: 409,
      body: { code: 'ENQUEUE_STOPPED' },
    });
    expect((await get<QueueInfo>('/api/queues/q')).body).toMatchObject({ ready: 1, enqueued: 1 });
  });

  it.each([
    ['stopped', 'DEQUEUE_STOPPED', (test: TestApp) => test.post('/api/queues/q/stop')],
    ['dropped', 'QUEUE_DROPPED', (test: TestApp) => test.remove('/api/queues/q')],
  ] as const)('end a waiting dequeue when they are %s', async (_how, code, end) => {
    const test = await startApp();
    await test.post('/api/queues', { name: 'q' });
    const waiting = test.post<ErrorBody>('/api/queues/q/dequeue', { waitMs: 30_000 });
    await untilDequeuesUnderWay(test, 1);
    await end(test);
    expect(await waiting).toMatchObject({ status: 409, body: { code } });
  });

  it('show their instance, shards and waits in the cluster and in the metrics', async () => {
    const { get, post } = await startApp();
    await post('/api/queues', { name: 'q' });
    await post('/api/queues/q/messages', { messages: [{ payload: 1 }, { payload: 2 }] });
    await post('/api/queues/q/dequeue', { mode: 'at-most-once' });
    const { body } = await get<{ instances: Record<string, unknown>[] }>('/api/cluster');
    const instanceMetrics = { enqueued: 2, consumed: 1, shards: [{ queue: 'q', backlog: 1 }] };
    expect(body.instances).toMatchObject([
      { instance: 1, process: { pid: process.pid }, metrics: instanceMetrics },
    ]);
    const metrics = String((await get('/metrics')).body);
    expect(metrics).toContain('shardlab_queue_ready_messages{queue="q"} 1');
    expect(metrics).toContain('shardlab_queue_enqueued_messages_total{queue="q"} 2');
    expect(metrics).toMatch(
      /shardlab_waits_total\{instance="1",event="log file sync",class="commit"\} [1-9]/,
    );
    expect(metrics).toMatch(/shardlab_counters_total\{instance="1",counter="log writes"\} [1-9]/);
    // A second scrape returns the same totals, rather than adding to them.
    expect(String((await get('/metrics')).body)).toContain(
      'shardlab_queue_enqueued_messages_total{queue="q"} 2',
    );
  });

  it('have wait events and counters that the server describes', async () => {
    const { get } = await startApp();
    const { status, body } = await get<WaitRegistry>('/api/waits');
    expect(status).toBe(200);
    expect(body.events).toContainEqual({
      name: 'client round trip',
      class: 'network',
      about: 'an injected delay before each call of a session',
      standsFor: 'SQL*Net message from client',
      emulated: true,
      hasHolder: false,
    });
    expect(body.events.filter(({ hasHolder }) => hasHolder).map(({ name }) => name)).toContain(
      'log file sync',
    );
    expect(body.counters).toContainEqual({
      name: 'log writes',
      unit: 'writes',
      about: expect.stringContaining('as their writer counted them'),
    });
  });
});
