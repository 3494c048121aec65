/** A buffered queue over HTTP. */
import type { Dequeued, Enqueued, ErrorBody, QueueInfo } from '@shardlab/contract';
import { expect, it } from 'vitest';
import { startApp, type TestApp } from './start-app.ts';

async function withQueue(spec: Record<string, unknown> = {}): Promise<TestApp> {
  const test = await startApp();
  const { status } = await test.post('/api/queues', {
    name: 'q',
    durability: 'memory',
    visibility: 'immediate',
    ...spec,
  });
  expect(status).toBe(201);
  return test;
}

const enqueue = (test: TestApp, ...messages: unknown[]) =>
  test.post<Enqueued & ErrorBody>('/api/queues/q/messages', { messages });
const dequeue = (test: TestApp, options: Record<string, unknown>) =>
  test.post<Dequeued>('/api/queues/q/dequeue', options);
const payloadsOf = ({ messages }: Dequeued) => messages.map(({ payload }) => payload);

it('delivers messages at most once, or until they are acknowledged', async () => {
  const test = await withQueue();
  const { status, body } = await enqueue(test, { payload: 1 }, { payload: 2, groupKey: 'g' }, { payload: 3 });
  expect([status, body.ids.length]).toEqual([201, 3]);
  expect(payloadsOf((await dequeue(test, { mode: 'at-most-once' })).body)).toEqual([1]);
  const [held] = (await dequeue(test, {})).body.messages;
  expect((await test.post('/api/queues/q/nack', { receipts: [held!.receipt] })).status).toBe(204);
  const again = (await dequeue(test, { max: 5 })).body;
  expect(payloadsOf(again)).toEqual([2, 3]);
  const receipts = again.messages.map(({ receipt }) => receipt);
  expect((await test.post('/api/queues/q/ack', { receipts })).status).toBe(204);
  const { ready, held: heldNow, consumed } = (await test.get<QueueInfo>('/api/queues/q')).body;
  expect({ ready, heldNow, consumed }).toEqual({ ready: 0, heldNow: 0, consumed: 3 });
});

it('answers 429 with Retry-After past the threshold, counts what it refused, and accepts all messages of a call or none', async () => {
  const test = await withQueue({ messagesMax: 2 });
  await enqueue(test, { payload: 1 });
  const { status, headers, body } = await enqueue(test, { payload: 2 }, { payload: 3 });
  expect(status).toBe(429);
  expect(headers['retry-after']).toBe('1');
  expect(body).toMatchObject({
    code: 'ENQUEUE_RATE_TOO_HIGH',
    retryable: true,
    details: { undelivered: 1, messagesMax: 2, retryAfterMs: 1_000 },
  });
  expect((await test.get<QueueInfo>('/api/queues/q')).body).toMatchObject({ ready: 1, refused: 2 });
  const metrics = await test.app.inject('/metrics');
  expect(metrics.body).toContain('shardlab_queue_refused_messages_total{queue="q"} 2');
  expect(payloadsOf((await dequeue(test, { mode: 'at-most-once', max: 5 })).body)).toEqual([1]);
  expect((await enqueue(test, { payload: 2 }, { payload: 3 })).status).toBe(201);
});

it('can be dropped and created again under its name with another visibility', async () => {
  const test = await withQueue();
  expect((await enqueue(test, { payload: 1 })).status).toBe(201);
  await test.remove('/api/queues/q');
  await test.post('/api/queues', { name: 'q', durability: 'relaxed' });
  expect((await enqueue(test, { payload: 2 })).status).toBe(201);
  expect(payloadsOf((await dequeue(test, { max: 5 })).body)).toEqual([2]);
});

it('cannot be part of a transaction', async () => {
  const test = await withQueue();
  const { status, body } = await test.post<ErrorBody>('/api/transactions', {
    enqueue: [{ queue: 'q', messages: [{ payload: 1 }] }],
  });
  expect([status, body.code]).toEqual([422, 'VISIBILITY_MISMATCH']);
});

it.each([[{ visibility: 'immediate' }], [{ durability: 'memory', messagesMax: 5 }]])(
  'cannot be created as %j',
  async (spec) => {
    const test = await startApp();
    const { status, body } = await test.post<ErrorBody>('/api/queues', { name: 'q', ...spec });
    expect([status, body.code]).toEqual([422, 'QUEUE_SPEC_INVALID']);
  },
);
