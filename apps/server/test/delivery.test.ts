/** When and how often a message is delivered: priority, delay, attempts, the exception queue. */
import type { Browsed, Dequeued, Enqueued, ErrorBody, QueueInfo } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { shareApp, startApp, type TestApp } from './start-app.ts';

const sharedApp = shareApp();

/** A new queue `q` in the app that the tests share. */
async function withQueue(spec: object): Promise<TestApp> {
  const test = sharedApp();
  await test.remove('/api/queues/q?withExceptions=true');
  const made = await test.post<QueueInfo>('/api/queues', { name: 'q', durability: 'relaxed', ...spec });
  expect(made).toMatchObject({ status: 201, body: spec });
  return test;
}

const enqueue = (test: TestApp, ...messages: unknown[]) =>
  test.post<Enqueued & ErrorBody>('/api/queues/q/messages', { messages });
const dequeue = async (test: TestApp, options: object = {}, queue = 'q') =>
  (await test.post<Dequeued>(`/api/queues/${queue}/dequeue`, options)).body.messages;
const nack = (test: TestApp, receipt: string | undefined, how: object = {}) =>
  test.post('/api/queues/q/nack', { receipts: [receipt], ...how });
const info = async (test: TestApp, queue = 'q') => (await test.get<QueueInfo>(`/api/queues/${queue}`)).body;

describe('priorities', () => {
  it('let more urgent messages overtake others, and are shown with the message', async () => {
    const test = await withQueue({ priorities: true });
    await enqueue(test, { payload: 'a' }, { payload: 'b', priority: 9 }, { payload: 'c', priority: 4 });
    const page = (await test.get<Browsed>('/api/queues/q/messages')).body.messages;
    expect(page.map(({ payload, priority }) => [payload, priority])).toEqual([
      ['a', undefined],
      ['c', 4],
      ['b', 9],
    ]);
    const taken = [...(await dequeue(test)), ...(await dequeue(test)), ...(await dequeue(test))];
    expect(taken.map(({ payload, priority = 0 }) => [payload, priority])).toEqual([
      ['b', 9],
      ['c', 4],
      ['a', 0],
    ]);
  });
});

describe('a delay', () => {
  it('withholds a message until it is due, and counts it separately', async () => {
    const test = await withQueue({});
    const { ids } = (await enqueue(test, { payload: 'later', delayMs: 60 }, { payload: 'now' })).body;
    expect(await info(test)).toMatchObject({ ready: 1, delayed: 1, enqueued: 2 });
    expect(String((await test.get('/metrics')).body)).toContain(
      'shardlab_queue_delayed_messages{queue="q"} 1',
    );
    expect(await dequeue(test, { max: 2, mode: 'at-most-once' })).toMatchObject([
      { id: ids[1], payload: 'now' },
    ]);
    expect(await dequeue(test, { waitMs: 20_000 })).toMatchObject([{ id: ids[0], payload: 'later' }]);
    expect(await info(test)).toMatchObject({ ready: 0, delayed: 0, held: 1 });
  });

  it('is shown with its end when browsed, like a hold', async () => {
    const test = await withQueue({});
    await enqueue(test, { payload: 'held' }, { payload: 'later', delayMs: 3_600_000 });
    await dequeue(test, { holdMs: 3_600_000 });
    const { messages } = (await test.get<Browsed>('/api/queues/q/messages')).body;
    expect(messages.map(({ payload, state }) => [payload, state])).toEqual([
      ['held', 'held'],
      ['later', 'delayed'],
    ]);
    for (const { untilMs } of messages) expect(untilMs! - Date.now()).toBeGreaterThan(3_500_000);
  });
});

describe('attempts', () => {
  it('end in the exception queue, with the reason', async () => {
    const test = await withQueue({ attemptsMax: 2 });
    expect(await info(test)).toMatchObject({ attemptsMax: 2, exceptionQueue: 'q.exceptions' });
    const { ids } = (await enqueue(test, { payload: 'poison' })).body;
    for (const deliveryCount of [1, 2]) {
      const [message] = await dequeue(test, { waitMs: 20_000 });
      expect(message).toMatchObject({ payload: 'poison', deliveryCount });
      expect((await nack(test, message!.receipt)).status).toBe(204);
    }
    expect(await dequeue(test, { waitMs: 20_000 }, 'q.exceptions')).toMatchObject([
      {
        id: ids[0],
        payload: 'poison',
        properties: {
          'exception-queue-of': 'q',
          'exception-reason': 'delivered 2 times without being consumed',
        },
      },
    ]);
    expect(await info(test)).toMatchObject({ ready: 0, held: 0 });
  });

  it('end at once for a message that is rejected, and take the error along', async () => {
    const test = await withQueue({});
    expect(await info(test)).toMatchObject({ attemptsMax: 5, exceptionQueue: null });
    await enqueue(test, { payload: 'poison' });
    const [message] = await dequeue(test);
    const error = { name: 'Refused', message: 'no such customer', stack: 'at the client' };
    expect((await nack(test, message!.receipt, { reject: true, error })).status).toBe(204);
    const [moved] = await dequeue(test, { waitMs: 20_000 }, 'q.exceptions');
    expect(moved!.properties).toMatchObject({
      'exception-reason': 'rejected by its consumer, delivered once',
      'exception-error-name': 'Refused',
      'exception-error-message': 'no such customer',
      'exception-error-stack': 'at the client',
    });
    expect(await info(test)).toMatchObject({ exceptionQueue: 'q.exceptions', consumed: 1 });
  });

  it('wait as long as a nack asks, or for the back-off if it says why', async () => {
    const test = await withQueue({ attemptsMax: null });
    await enqueue(test, { payload: 1 }, { payload: 2 });
    const [first] = await dequeue(test);
    await nack(test, first!.receipt, { delayMs: 3_600_000 });
    const [second] = await dequeue(test);
    await nack(test, second!.receipt, { error: { message: 'later' } });
    expect(await dequeue(test, { waitMs: 20_000 })).toMatchObject([{ payload: 2, deliveryCount: 2 }]);
    expect(await info(test)).toMatchObject({ ready: 0, held: 1, delayed: 1 });
    expect(await nack(test, 'x', { retryMs: 1 })).toMatchObject({ status: 400 });
  });

  it('delay a message that was returned', async () => {
    const test = await withQueue({ retryDelayMs: 3_600_000 });
    await enqueue(test, { payload: 1 });
    const [message] = await dequeue(test);
    await nack(test, message!.receipt);
    expect(await dequeue(test)).toEqual([]);
    expect(await info(test)).toMatchObject({ ready: 0, delayed: 1 });
    const page = (await test.get<Browsed>('/api/queues/q/messages')).body.messages;
    expect(page).toMatchObject([{ state: 'delayed', deliveryCount: 1, untilMs: expect.any(Number) }]);
  });

  it('keep the exception queue from being dropped before its queue', async () => {
    const test = await withQueue({ attemptsMax: 1 });
    expect(await test.remove('/api/queues/q.exceptions')).toMatchObject({
      status: 409,
      body: { code: 'QUEUE_IN_USE', retryable: false },
    });
    expect((await test.remove('/api/queues/q')).status).toBe(204);
    expect((await test.get('/api/queues/q.exceptions')).status).toBe(404);
  });

  it('keep their queue from being dropped while they have messages, unless both are meant', async () => {
    const test = await withQueue({ attemptsMax: 1 });
    await enqueue(test, { payload: 1 });
    const [message] = await dequeue(test);
    await nack(test, message!.receipt);
    await expect.poll(async () => (await info(test, 'q.exceptions')).ready).toBe(1);
    expect(await test.remove('/api/queues/q')).toMatchObject({
      status: 409,
      body: { code: 'EXCEPTION_QUEUE_NOT_EMPTY', details: { exceptionQueue: 'q.exceptions', messages: 1 } },
    });
    expect((await test.remove('/api/queues/q?withExceptions=perhaps')).status).toBe(400);
    expect((await test.remove('/api/queues/q?withExceptions=true')).status).toBe(204);
    expect((await test.get('/api/queues/q.exceptions')).status).toBe(404);
  });
});

describe('bad input', () => {
  it.each<[string, object, number, string]>([
    ['a priority of 10', { priority: 10 }, 400, 'REQUEST_INVALID'],
    ['half a priority', { priority: 0.5 }, 400, 'REQUEST_INVALID'],
    ['a priority as text', { priority: '1' }, 400, 'REQUEST_INVALID'],
    ['a priority where there are none', { priority: 1 }, 422, 'MESSAGE_INVALID'],
    ['a delay into the past', { delayMs: -1 }, 400, 'REQUEST_INVALID'],
    ['a delay of two years', { delayMs: 2 * 366 * 86_400_000 }, 400, 'REQUEST_INVALID'],
  ])('(%s) of a message is refused', async (_what, marks, status, code) => {
    const test = await withQueue({});
    expect(await enqueue(test, { payload: 1 }, { payload: 2, ...marks })).toMatchObject({
      status,
      body: { code },
    });
    expect(await info(test)).toMatchObject({ ready: 0, delayed: 0, enqueued: 0 });
  });

  it.each<[string, object, string]>([
    ['no attempts', { attemptsMax: 0 }, 'REQUEST_INVALID'],
    ['1001 attempts', { attemptsMax: 1_001 }, 'REQUEST_INVALID'],
    ['a pause of a day', { retryDelayMs: 86_400_000 }, 'REQUEST_INVALID'],
    ['priorities as a number', { priorities: 1 }, 'REQUEST_INVALID'],
    [
      'counts that are not written down',
      { attemptsCounted: 'on-delivery', durability: 'memory' },
      'QUEUE_SPEC_INVALID',
    ],
    ['priorities without shards', { priorities: true, kind: 'unsharded' }, 'QUEUE_SPEC_INVALID'],
    [
      'a name too long for its exception queue',
      { name: 'x'.repeat(60), attemptsMax: 1 },
      'QUEUE_SPEC_INVALID',
    ],
  ])('(%s) of a queue is refused', async (_what, spec, code) => {
    const { post, get } = await startApp();
    expect(await post('/api/queues', { name: 'odd', ...spec })).toMatchObject({
      status: code === 'REQUEST_INVALID' ? 400 : 422,
      body: { code },
    });
    expect((await get('/api/queues')).body).toEqual({ queues: [] });
  });

  it('a delay is refused by queues that do not support it', async () => {
    for (const spec of [{ durability: 'memory' }, { kind: 'unsharded' }]) {
      const test = await withQueue(spec);
      expect(await enqueue(test, { payload: 1, delayMs: 5 })).toMatchObject({
        status: 422,
        body: { code: 'MESSAGE_INVALID', details: { field: 'delayMs' } },
      });
    }
  });
});
