/** The depth and the rates of queues over time, and messages that are moved back from an exception queue. */
import type {
  Browsed,
  Dequeued,
  ErrorBody,
  QueueHistories,
  QueueHistory,
  QueueInfo,
  Redriven,
} from '@shardlab/contract';
import { latencyBucketOf } from '@shardlab/engine';
import { describe, expect, it, vi } from 'vitest';
import { QueueHistories as Histories } from '../src/queues/queue-histories.ts';
import { openLabDatabase } from '../src/store/lab-database.ts';
import { QueueHistoryStore } from '../src/store/queue-history-store.ts';
import { startApp, waiting } from './start-app.ts';

type Counts = Pick<QueueInfo, 'ready' | 'enqueued' | 'consumed'>;

/** Counts of dequeue calls by latency, in the engine's buckets. */
const calls = (byMs: Record<number, number>) => {
  const counts = Array.from({ length: 121 }, () => 0);
  for (const [ms, count] of Object.entries(byMs)) counts[latencyBucketOf(Number(ms))] = count;
  return counts;
};
const noCalls = { lagMs: 40, deliveryLatency: calls({}) };

function historiesOf(counts: () => Record<string, Counts>, statistics = vi.fn(async () => noCalls)) {
  let atMs = 1_000_000;
  const queues = async () =>
    Object.entries(counts()).map(([name, count]) => ({ name, held: 0, delayed: 0, ...count }) as QueueInfo);
  const histories = new Histories({
    queues,
    statistics,
    now: () => atMs,
    store: new QueueHistoryStore(openLabDatabase(':memory:')),
    onFault: (error) => expect.unreachable(String(error)),
  });
  const sampleAfter = async (ms: number) => {
    atMs += ms;
    await histories.sample();
  };
  return { histories, sampleAfter, statistics };
}

describe('the history of queues', () => {
  it('has the depth, and the rates between samples', async () => {
    let count: Counts = { ready: 0, enqueued: 0, consumed: 0 };
    const { histories, sampleAfter } = historiesOf(() => ({ q: count }));
    await sampleAfter(0);
    count = { ready: 60, enqueued: 100, consumed: 40 };
    await sampleAfter(2_000);
    count = { ready: 0, enqueued: 100, consumed: 100 };
    await sampleAfter(2_000);
    const [first, second] = [1_000_000, 1_002_000];
    expect(histories.history('q', '10m')).toEqual({
      queue: 'q',
      everyMs: 2_000,
      samples: [
        {
          atMs: second,
          sinceMs: first,
          depth: 60,
          enqueuePerSec: 50,
          dequeuePerSec: 20,
          latencyMs: null,
          lagMs: 40,
        },
        {
          atMs: 1_004_000,
          sinceMs: second,
          depth: 0,
          enqueuePerSec: 0,
          dequeuePerSec: 30,
          latencyMs: null,
          lagMs: 0,
        },
      ],
    });
    expect(histories.history('q', '1h').samples).toEqual([]);
    await histories.close();
  });

  it('has the latency of the messages that were delivered since the previous sample', async () => {
    let count: Counts = { ready: 0, enqueued: 0, consumed: 0 };
    let deliveryLatency = calls({ 4: 1_000 });
    const statistics = vi.fn(async () => ({ lagMs: 0, deliveryLatency }));
    const { histories, sampleAfter } = historiesOf(() => ({ q: count }), statistics);
    const latencies = () => histories.history('q', '10m').samples.map(({ latencyMs }) => latencyMs);
    await sampleAfter(0);
    count = { ready: 0, enqueued: 100, consumed: 100 };
    deliveryLatency = calls({ 4: 1_097, 512: 3 });
    await sampleAfter(2_000);
    await sampleAfter(2_000);
    expect(statistics, 'not asked for while nothing happens').toHaveBeenCalledTimes(2);
    count = { ready: 0, enqueued: 200, consumed: 200 };
    deliveryLatency = calls({ 16: 1 }); // the instance was reopened, so that its counts began again
    await sampleAfter(2_000);
    expect(latencies()).toEqual([{ p50: 4, p99: 512 }, null, null]);
    await histories.close();
  });

  it('keeps a maximum number of samples of each range, and none of dropped queues', async () => {
    let names = ['q', 'r'];
    const { histories, sampleAfter } = historiesOf(() =>
      Object.fromEntries(names.map((name) => [name, { ready: 0, enqueued: 0, consumed: 0 }])),
    );
    for (let sample = 0; sample < 320; sample += 1) await sampleAfter(2_000);
    expect(histories.history('q', '10m').samples).toHaveLength(300);
    // A sample of this range takes 15 s, which are reached at every eighth sample of 2 s.
    expect(histories.history('q', '1h').samples).toHaveLength(Math.floor(319 / 7));
    expect(histories.all('24h').map(({ queue, samples }) => [queue, samples.length])).toEqual([
      ['q', 2],
      ['r', 2],
    ]);
    names = ['r'];
    await sampleAfter(2_000);
    expect(histories.all('10m').map(({ queue }) => queue)).toEqual(['r']);
    await histories.close();
  });

  it('skips a sample whose counters are lower, as while an instance does not respond', async () => {
    let count: Counts = { ready: 0, enqueued: 500, consumed: 500 };
    const { histories, sampleAfter } = historiesOf(() => ({ q: count }));
    const spans = () =>
      histories
        .history('q', '10m')
        .samples.map(({ sinceMs, atMs, enqueuePerSec }) => [
          (sinceMs - 1_000_000) / 1_000,
          (atMs - 1_000_000) / 1_000,
          enqueuePerSec,
        ]);
    await sampleAfter(0);
    await sampleAfter(2_000);
    count = { ready: 0, enqueued: 100, consumed: 100 };
    await sampleAfter(2_000);
    count = { ready: 0, enqueued: 540, consumed: 540 };
    await sampleAfter(2_000);
    expect(spans()).toEqual([
      [0, 2, 0],
      [2, 6, 10],
    ]);
    count = { ready: 0, enqueued: 1, consumed: 1 }; // the queue was created again
    for (let reading = 0; reading < 5; reading += 1) await sampleAfter(2_000);
    expect(spans().at(-1), 'after a gap').toEqual([14, 16, 0]);
    await histories.close();
  });

  it('reads the lag of queues with ready messages only, and has a gap after a long time without samples', async () => {
    let count: Counts = { ready: 0, enqueued: 1, consumed: 1 };
    const { histories, sampleAfter, statistics } = historiesOf(() => ({ q: count }));
    await sampleAfter(0);
    expect(statistics, 'once, so that deliveries are measured').toHaveBeenCalledExactlyOnceWith('q');
    await sampleAfter(2_000);
    count = { ready: 1, enqueued: 2, consumed: 1 };
    await sampleAfter(2_000);
    expect(statistics).toHaveBeenCalledTimes(2);
    await sampleAfter(60_000);
    await sampleAfter(2_000);
    const samples = histories.history('q', '10m').samples;
    expect(samples.map(({ atMs, sinceMs }) => atMs - sinceMs)).toEqual([2_000, 2_000, 2_000]);
    expect(samples.map(({ lagMs }) => lagMs)).toEqual([0, 40, 40]);
    expect(samples[2]!.sinceMs - samples[1]!.atMs, 'a gap').toBe(60_000);
    await histories.close();
  });

  it('is served for one queue and for all', async () => {
    const { get, post } = await startApp();
    await post('/api/queues', { name: 'q' });
    const one = await get<QueueHistory>('/api/queues/q/history?range=1h');
    expect(one.body).toEqual({ queue: 'q', everyMs: 15_000, samples: [] });
    expect((await get<QueueHistories>('/api/queue-histories')).status).toBe(200);
    expect((await get('/api/queues/q/history?range=1y')).status).toBe(400);
    expect((await get('/api/queues/nope/history')).status).toBe(404);
  });
});

describe('a redrive', () => {
  const failTwice = async (app: Awaited<ReturnType<typeof startApp>>) => {
    const { post } = app;
    await post('/api/queues', { name: 'orders', attemptsMax: 1 });
    await post('/api/queues/orders/messages', {
      messages: [
        { payload: { order: 1 }, correlationId: 'a', properties: { region: 'north' } },
        { payload: { order: 2 } },
      ],
    });
    const { body } = await post<Dequeued>('/api/queues/orders/dequeue', { max: 2 });
    await post('/api/queues/orders/nack', { receipts: body.messages.map(({ receipt }) => receipt) });
    await vi.waitFor(async () => {
      const { body: exceptions } = await app.get<QueueInfo>('/api/queues/orders.exceptions');
      expect(exceptions.ready).toBe(2);
    }, waiting);
  };

  it('shows what it would move, and then moves it without the reason property', async () => {
    const app = await startApp();
    await failTwice(app);
    const url = '/api/queues/orders.exceptions/redrive';
    const trial = await app.post<Redriven>(url, { dryRun: true, max: 1 });
    expect(trial.body).toEqual({ to: 'orders', messages: 1, left: 1 });
    const unchanged = await app.get<QueueInfo>('/api/queues/orders');
    expect(unchanged.body.ready).toBe(0);
    const moved = await app.post<Redriven>(url);
    expect([moved.status, moved.body]).toEqual([200, { to: 'orders', messages: 2, left: 0 }]);
    const { body } = await app.get<Browsed>('/api/queues/orders/messages');
    expect(body.messages).toMatchObject([
      { payload: { order: 1 }, correlationId: 'a', properties: { region: 'north' } },
      { payload: { order: 2 } },
    ]);
    expect(body.messages[1]!.properties).toBeUndefined();
  });

  it.each([
    ['a queue that is no exception queue', 'orders', {}, 422],
    ['itself', 'orders', { to: 'orders' }, 422],
    ['a topic', 'orders', { to: 'news' }, 422],
    ['a queue that is not there', 'orders', { to: 'nope' }, 404],
    ['more than a transaction holds', 'orders', { max: 1_001 }, 400],
  ])('is refused: %s', async (_, queue, body, status) => {
    const app = await startApp();
    await app.post('/api/queues', { name: 'orders' });
    await app.post('/api/queues', { name: 'news', type: 'topic' });
    const answer = await app.post<ErrorBody>(`/api/queues/${queue}/redrive`, body);
    expect(answer.status).toBe(status);
    expect(answer.body.message).not.toBe('');
  });

  it('moves nothing if the other queue does not accept messages', async () => {
    const app = await startApp();
    await failTwice(app);
    await app.post('/api/queues/orders/stop', { enqueue: true });
    const { status, body } = await app.post<ErrorBody>('/api/queues/orders.exceptions/redrive');
    expect([status, body.code]).toEqual([409, 'ENQUEUE_STOPPED']);
    const { body: exceptions } = await app.get<QueueInfo>('/api/queues/orders.exceptions');
    expect([exceptions.ready, exceptions.held]).toEqual([2, 0]);
  });
});
