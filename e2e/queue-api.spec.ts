/** The queue API serves its users while a run measures. */
import { expect, longScenario, readRun, startRun, test } from './journey.ts';

test('messages go in and come out over REST while a run goes on', async ({ request }) => {
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

test('the console enqueues, browses and dequeues', async ({ page, request }) => {
  expect((await request.post('/api/queues', { data: { name: 'console' } })).status()).toBe(201);
  await page.goto('/queues?queue=console');
  const enqueue = page.getByRole('form', { name: 'Enqueue' });
  await enqueue.getByLabel('Payload').fill('{ "from": "the console" }');
  await enqueue.getByLabel('Copies').fill('3');
  await enqueue.getByRole('button', { name: 'Enqueue' }).click();
  await expect(enqueue.getByRole('status')).toHaveText('3 messages committed.');
  await expect(page.getByText('the console').first()).toBeVisible();

  const dequeue = page.getByRole('form', { name: 'Dequeue' });
  await dequeue.getByLabel('At most').fill('10');
  await dequeue.getByRole('button', { name: 'Dequeue' }).click();
  await expect(dequeue.getByRole('status')).toContainText('the console');
  await expect(page.getByText('The queue is empty.')).toBeVisible();
});
