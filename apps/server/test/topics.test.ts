/** Topics over HTTP: subscribers, recipients, and the backlog of each subscriber. */
import type {
  Browsed,
  Dequeued,
  Enqueued,
  ErrorBody,
  QueueKind,
  SubscriberInfo,
  SubscriberList,
} from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { shareApp, type TestApp } from './start-app.ts';

const url = '/api/queues/news';
const subscribersUrl = `${url}/subscribers`;

const sharedApp = shareApp();

async function withTopic(...subscribers: string[]): Promise<TestApp> {
  return withTopicOf('sharded', ...subscribers);
}

async function withTopicOf(kind: QueueKind, ...subscribers: string[]): Promise<TestApp> {
  const test = sharedApp();
  await test.remove('/api/queues/news');
  const made = await test.post('/api/queues', { name: 'news', kind, type: 'topic', durability: 'relaxed' });
  expect(made).toMatchObject({ status: 201, body: { kind, type: 'topic' } });
  for (const name of subscribers) expect((await test.post(subscribersUrl, { name })).status).toBe(201);
  return test;
}

const publish = (test: TestApp, ...messages: unknown[]) =>
  test.post<Enqueued & ErrorBody>(`${url}/messages`, { messages });
const take = async (test: TestApp, subscriber: string, options: object = {}) =>
  (await test.post<Dequeued>(`${url}/dequeue`, { max: 10, subscriber, ...options })).body.messages;
const payloads = (messages: readonly { payload?: unknown }[]) => messages.map(({ payload }) => payload);
const subscribersOf = async (test: TestApp) =>
  (await test.get<SubscriberList>(subscribersUrl)).body.subscribers;

describe.each<QueueKind>(['sharded', 'unsharded', 'unsharded-grouped'])('a topic of kind %s', (kind) => {
  it('delivers every message to each of its subscribers, and keeps it for slow ones', async () => {
    const test = await withTopicOf(kind, 'eager', 'slow');
    expect((await publish(test, { payload: 1 }, { payload: 2 })).status).toBe(201);
    const held = await take(test, 'eager');
    expect(payloads(held)).toEqual([1, 2]);
    expect(await take(test, 'eager')).toEqual([]);
    expect(await subscribersOf(test)).toMatchObject([
      { name: 'eager', durable: true, backlog: 2, held: 2, lagMs: 0 },
      { name: 'slow', durable: true, backlog: 2, held: 0, lagMs: expect.any(Number) },
    ]);
    const receipts = held.map(({ receipt }) => receipt);
    expect((await test.post(`${url}/ack`, { receipts })).status).toBe(204);
    expect(payloads(await take(test, 'slow', { mode: 'at-most-once' }))).toEqual([1, 2]);
    expect((await subscribersOf(test)).map(({ backlog }) => backlog)).toEqual([0, 0]);
  });

  it('gives a message that names recipients to them only', async () => {
    const test = await withTopicOf(kind, 'a', 'b', 'c');
    await publish(test, { payload: 'two', recipients: ['a', 'c'], correlationId: 'x' }, { payload: 'all' });
    expect(await take(test, 'a', { mode: 'at-most-once' })).toMatchObject([
      { payload: 'two', recipients: ['a', 'c'], correlationId: 'x' },
      { payload: 'all' },
    ]);
    expect(payloads(await take(test, 'b', { mode: 'at-most-once' }))).toEqual(['all']);
    expect(payloads(await take(test, 'c', { mode: 'at-most-once' }))).toEqual(['two', 'all']);
  });

  it('is browsed as one subscriber sees it', async () => {
    const test = await withTopicOf(kind, 'a', 'b');
    await publish(test, { payload: 1 }, { payload: 2 }, { payload: 3, recipients: ['b'] });
    await take(test, 'a', { max: 1 });
    const seen = async (subscriber: string) => {
      const { body } = await test.get<Browsed>(`${url}/messages?subscriber=${subscriber}`);
      return body.messages.map(({ payload, state }) => `${String(payload)} ${state}`);
    };
    expect(await seen('a')).toEqual(['1 held', '2 ready']);
    expect(await seen('b')).toEqual(['1 ready', '2 ready', '3 ready']);
  });

  it('shows backlog and lag of each subscriber in the metrics', async () => {
    const test = await withTopicOf(kind, 'a', 'quo"ted');
    await publish(test, { payload: 1 });
    await take(test, 'a', { mode: 'at-most-once' });
    const metrics = String((await test.get('/metrics')).body);
    expect(metrics).toContain('shardlab_subscriber_backlog_messages{queue="news",subscriber="a"} 0');
    expect(metrics).toContain('shardlab_subscriber_backlog_messages{queue="news",subscriber="quo\\"ted"} 1');
    expect(metrics).toMatch(/shardlab_subscriber_lag_seconds\{queue="news",subscriber="quo\\"ted"\} \d/);
    await test.remove(`${subscribersUrl}/a`);
    expect(String((await test.get('/metrics')).body)).not.toContain('subscriber="a"');
  });
});

describe('a subscriber', () => {
  it('gets the messages that are committed after it subscribed, and subscribing twice changes nothing', async () => {
    const test = await withTopic('first');
    await publish(test, { payload: 'before' });
    const made = await test.post<SubscriberInfo>(subscribersUrl, { name: 'second', durable: false });
    expect(made).toMatchObject({
      status: 201,
      headers: { location: `${subscribersUrl}/second` },
      body: { name: 'second', durable: false, backlog: 0, held: 0, lagMs: 0 },
    });
    await publish(test, { payload: 'after' });
    expect(await test.post(subscribersUrl, { name: 'second', durable: false })).toMatchObject({
      status: 201,
      body: { backlog: 1 },
    });
    expect(payloads(await take(test, 'second'))).toEqual(['after']);
  });

  it('that is removed loses its messages, including those that it held', async () => {
    const test = await withTopic('a', 'b');
    await publish(test, { payload: 1 });
    const [held] = await take(test, 'a');
    expect((await test.remove(`${subscribersUrl}/a`)).status).toBe(204);
    expect((await subscribersOf(test)).map(({ name }) => name)).toEqual(['b']);
    expect(await test.post(`${url}/ack`, { receipts: [held!.receipt] })).toMatchObject({ status: 409 });
    expect(await test.remove(`${subscribersUrl}/a`)).toMatchObject({
      status: 404,
      body: { code: 'SUBSCRIBER_NOT_FOUND' },
    });
  });

  it.each(['with space', 'a/b', '100 %', 'ünïcödé', '漢'.repeat(128), '...'])(
    'may be called %s, and is found by that name',
    async (name) => {
      const test = await withTopic(name);
      await publish(test, { payload: 1, recipients: [name] });
      const query = `?subscriber=${encodeURIComponent(name)}`;
      expect((await test.get<Browsed>(`${url}/messages${query}`)).body.messages).toHaveLength(1);
      expect(await take(test, name)).toHaveLength(1);
      expect((await test.remove(`${subscribersUrl}/${encodeURIComponent(name)}`)).status).toBe(204);
      expect(await subscribersOf(test)).toEqual([]);
    },
  );
});

describe('misuse of a topic', () => {
  it.each<[string, string, unknown, number, string]>([
    ['a dequeue without a subscriber', `${url}/dequeue`, {}, 422, 'OPTIONS_INVALID'],
    [
      'a dequeue for an unknown subscriber',
      `${url}/dequeue`,
      { subscriber: 'x' },
      404,
      'SUBSCRIBER_NOT_FOUND',
    ],
    [
      'an unknown subscriber among the recipients',
      `${url}/messages`,
      { messages: [{ payload: 1, recipients: ['a', 'x'] }] },
      404,
      'SUBSCRIBER_NOT_FOUND',
    ],
    ['another kind of subscriber', subscribersUrl, { name: 'a', durable: false }, 409, 'SUBSCRIBER_EXISTS'],
    ['a subscriber of a queue', '/api/queues/q/subscribers', { name: 'a' }, 422, 'OPTIONS_INVALID'],
    ['a subscriber at a queue', '/api/queues/q/dequeue', { subscriber: 'a' }, 422, 'OPTIONS_INVALID'],
    [
      'recipients in a queue',
      '/api/queues/q/messages',
      { messages: [{ payload: 1, recipients: ['a'] }] },
      422,
      'MESSAGE_INVALID',
    ],
    ['a subscriber of nothing', '/api/queues/no/subscribers', { name: 'a' }, 404, 'QUEUE_NOT_FOUND'],
    ['no name', subscribersUrl, { name: '' }, 400, 'REQUEST_INVALID'],
    ['a name as long as a book', subscribersUrl, { name: 'x'.repeat(129) }, 400, 'REQUEST_INVALID'],
    ['a name of a folder', subscribersUrl, { name: '..' }, 400, 'REQUEST_INVALID'],
    ['a name with an end in it', subscribersUrl, { name: 'a\u0000b' }, 400, 'REQUEST_INVALID'],
    [
      'no recipients',
      `${url}/messages`,
      { messages: [{ payload: 1, recipients: [] }] },
      400,
      'REQUEST_INVALID',
    ],
    [
      'retention of an unsharded topic',
      '/api/queues',
      { name: 'n', type: 'topic', kind: 'unsharded', retentionMs: 60_000 },
      422,
      'QUEUE_SPEC_INVALID',
    ],
    ['a selector', subscribersUrl, { name: 'b', selector: 'a = 1' }, 422, 'FEATURE_UNSUPPORTED'],
  ])('(%s) is told, and changes nothing', async (_what, address, body, status, code) => {
    const test = await withTopic('a');
    await test.post('/api/queues', { name: 'q' });
    expect(await test.post<ErrorBody>(address, body)).toMatchObject({ status, body: { code } });
    expect(await subscribersOf(test)).toMatchObject([{ name: 'a', backlog: 0 }]);
  });

  it('in the address of a request is reported too', async () => {
    const test = await withTopic('a');
    await test.post('/api/queues', { name: 'q' });
    for (const [address, status, code] of [
      [`${url}/messages`, 422, 'OPTIONS_INVALID'],
      [`${url}/messages?subscriber=x`, 404, 'SUBSCRIBER_NOT_FOUND'],
      [`${url}/messages?subscriber=`, 400, 'REQUEST_INVALID'],
      ['/api/queues/q/messages?subscriber=a', 422, 'OPTIONS_INVALID'],
      ['/api/queues/q/subscribers', 422, 'OPTIONS_INVALID'],
      ['/api/queues/no/subscribers', 404, 'QUEUE_NOT_FOUND'],
    ] as const) {
      expect([address, await test.get<ErrorBody>(address)]).toMatchObject([
        address,
        { status, body: { code } },
      ]);
    }
  });
});
