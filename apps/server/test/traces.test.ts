/** The trace of messages over HTTP. */
import type { Enqueued, ErrorBody, MessageTrace, TracedMessages } from '@shardlab/contract';
import { expect, it } from 'vitest';
import { startApp } from './start-app.ts';

async function withQueue(spec: Record<string, unknown> = {}) {
  const test = await startApp();
  await test.post('/api/queues', { name: 'q', shards: 1, ...spec });
  const enqueue = async () =>
    (await test.post<Enqueued>('/api/queues/q/messages', { messages: [{ payload: 1 }] })).body.ids[0]!;
  return { ...test, enqueue };
}

it('the next message is traced on request, and found by its id and in the list', async () => {
  const { get, post, enqueue } = await withQueue();
  expect((await post('/api/queues/q/traces', { next: 1 })).status).toBe(204);
  const [traced, other] = [await enqueue(), await enqueue()];
  await post('/api/queues/q/dequeue', { mode: 'at-most-once' });
  const { status, body } = await get<MessageTrace>(`/api/queues/q/messages/${traced}/trace`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ coverage: 'complete', whereabouts: [{ state: 'consumed' }] });
  expect(body.events.map(({ event }) => event)).toEqual([
    'enqueued',
    'grouped',
    'committed',
    'cached',
    'delivered',
    'held',
    'consumed',
  ]);
  expect((await get<TracedMessages>('/api/queues/q/traces')).body.messages).toMatchObject([{ id: traced }]);
  expect((await get(`/api/queues/q/messages/${other}/trace`)).body).toMatchObject({
    coverage: 'none',
    whereabouts: [{ state: 'ready', reason: 'no-consumer' }],
  });
});

it('a trace of a message that cannot be traced is refused', async () => {
  const { get, post } = await withQueue({ kind: 'unsharded' });
  const ofUnsharded = await get<ErrorBody>('/api/queues/q/messages/100.1/trace');
  expect(ofUnsharded).toMatchObject({ status: 422, body: { code: 'FEATURE_UNSUPPORTED' } });
  expect((await get('/api/queues/q/messages/orders/trace')).status).toBe(400);
  expect((await get('/api/queues/none/messages/100.1/trace')).status).toBe(404);
  expect((await get('/api/queues/q/traces?limit=101')).status).toBe(400);
  expect((await post('/api/queues/q/traces', { next: 0 })).status).toBe(400);
});
