/** The metrics of a queue over REST, from one instance and from several. */
import type { ErrorBody, QueueStats } from '@shardlab/contract';
import type { QueueStats as InstanceQueueStats, QueueTotals } from '@shardlab/engine';
import { describe, expect, it } from 'vitest';
import { sumQueueStats } from '../src/queues/queue-stats.ts';
import { startApp } from './start-app.ts';

describe('the metrics of a queue', () => {
  it('are those of its shards, consumers, partitions and cache', async () => {
    const { get, post } = await startApp();
    await post('/api/queues', { name: 'q' });
    await post('/api/queues/q/messages', { messages: [{ payload: 1 }, { payload: 2 }, { payload: 3 }] });
    await post('/api/queues/q/dequeue', { max: 1, mode: 'at-most-once' });
    await post('/api/queues/q/dequeue', { max: 1, mode: 'manual' });
    const { body } = await get<QueueStats>('/api/queues/q/stats');
    expect(body).toMatchObject({
      queue: 'q',
      kind: 'sharded',
      total: { depth: 2, ready: 1, held: 1, enqueued: 3, consumed: 1, drainState: 'growing', drainMs: null },
    });
    const [instance] = body.instances;
    expect(instance).toMatchObject({
      instance: 1,
      shards: [{ shard: 100, depth: 2, partitions: { filling: 1, full: 0 }, cache: { hits: 2, misses: 0 } }],
      subscribers: [{ subscriber: null, dequeued: 1, position: 3, watermark: 2 }],
      partitions: [{ state: 'filling', messages: 3, terminal: 1 }],
    });
  });

  it('of an unsharded queue are those of its one file', async () => {
    const { get, post } = await startApp();
    await post('/api/queues', { name: 'jobs', kind: 'unsharded' });
    await post('/api/queues/jobs/messages', { messages: [{ payload: 1 }] });
    const { body } = await get<QueueStats>('/api/queues/jobs/stats');
    expect(body).toMatchObject({
      kind: 'unsharded',
      total: { depth: 1, enqueued: 1 },
      instances: [{ shards: [] }],
    });
  });

  it('of an unknown queue are not found', async () => {
    const { get } = await startApp();
    const { status, body } = await get<ErrorBody>('/api/queues/nope/stats');
    expect([status, body.code]).toEqual([404, 'QUEUE_NOT_FOUND']);
  });
});

describe('the sum over instances', () => {
  const total = (of: Partial<QueueTotals>): QueueTotals => ({
    depth: 0,
    ready: 0,
    held: 0,
    delayed: 0,
    enqueued: 0,
    consumed: 0,
    forwardedIn: 0,
    forwardedOut: 0,
    refused: 0,
    lost: 0,
    windowMs: 5_000,
    enqueuePerSec: 0,
    dequeuePerSec: 0,
    drainState: 'empty',
    drainMs: null,
    drainMsWithoutEnqueues: null,
    ...of,
  });
  const part = (instance: number, of: Partial<QueueTotals>): InstanceQueueStats => ({
    queue: 'q',
    kind: 'sharded',
    type: 'queue',
    instance,
    asOfMs: 1_000 + instance,
    deliveryLatency: [],
    total: total(of),
    shards: [],
    subscribers: [],
    partitions: [],
  });

  it('estimates the time to drain from the sums, even if one instance drains and the other grows', () => {
    const stats = sumQueueStats([
      part(2, { depth: 500, ready: 500, enqueued: 600, consumed: 100, enqueuePerSec: 20, dequeuePerSec: 0 }),
      part(1, { depth: 100, held: 100, enqueued: 300, consumed: 200, dequeuePerSec: 80, windowMs: 8_000 }),
    ]);
    expect(stats.instances.map(({ instance }) => instance)).toEqual([1, 2]);
    expect(stats.asOfMs).toBe(1_001);
    expect(stats.total).toMatchObject({
      depth: 600,
      ready: 500,
      held: 100,
      enqueued: 900,
      consumed: 300,
      enqueuePerSec: 20,
      dequeuePerSec: 80,
      drainState: 'draining',
    });
    expect(stats.total.drainMs).toBeCloseTo(10_000, 6);
  });
});
