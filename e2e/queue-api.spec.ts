/** The queue API serves its users while a run measures. */
import { expect, longScenario, readRun, startRun, test } from './journey.ts';

test('messages are enqueued and dequeued over REST while a run continues', async ({ request }) => {
  const run = await startRun(request, longScenario('with-queue-traffic'));
  await expect.poll(async () => (await readRun(request, run)).status).toBe('running');

  expect((await request.post('/api/queues', { data: { name: 'orders' } })).status()).toBe(201);
  const messages = [1, 2, 3].map((order) => ({ payload: { order }, groupKey: 'one customer' }));
  const enqueued = await request.post('/api/queues/orders/messages', { data: { messages } });
  expect(enqueued.status()).toBe(201);
  const { ids } = await enqueued.json();
  expect(new Set(ids).size).toBe(3);

  const dequeued = await request.post('/api/queues/orders/dequeue', {
    data: { max: 10, waitMs: 1_000, mode: 'manual', holdMs: 60_000 },
  });
  const held = (await dequeued.json()).messages as { id: string; payload: unknown; receipt: string }[];
  expect(held.map(({ id }) => id)).toEqual(ids);
  expect(held.map(({ payload }) => payload)).toEqual([{ order: 1 }, { order: 2 }, { order: 3 }]);

  const receipts = held.map(({ receipt }) => receipt);
  expect((await request.post('/api/queues/orders/ack', { data: { receipts } })).ok()).toBe(true);
  const again = await request.post('/api/queues/orders/ack', { data: { receipts } });
  expect(again.status(), 'a stale receipt changes nothing').toBe(409);
  const rest = await request.post('/api/queues/orders/dequeue', { data: { max: 10, waitMs: 0 } });
  expect((await rest.json()).messages).toEqual([]);

  expect((await readRun(request, run)).status, 'all of it while the run went on').toBe('running');
  expect((await request.post(`/api/runs/${run}/cancel`)).ok()).toBe(true);
  await expect.poll(async () => (await readRun(request, run)).status).toBe('cancelled');
});
