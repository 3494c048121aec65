/** `Idempotency-Key`: a request that is sent twice is done once, even if the first answer was lost. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Committed, Dequeued, Enqueued, ErrorBody, QueueInfo } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { listeningPort } from '../src/http/listening-port.ts';
import { startApp, type TestApp, waiting } from './start-app.ts';

const withKey = (key: string) => ({ 'idempotency-key': key });
const messages = (payload: unknown) => ({ messages: [{ payload }] });
const url = '/api/queues/q/messages';

async function withQueue(): Promise<TestApp> {
  const test = await startApp();
  await test.post('/api/queues', { name: 'q' });
  return test;
}

const enqueue = ({ post }: TestApp, key: string, payload: unknown) =>
  post<Enqueued & ErrorBody>(url, messages(payload), withKey(key));
const info = async ({ get }: TestApp) => (await get<QueueInfo>('/api/queues/q')).body;

describe('an enqueue with an idempotency key', () => {
  it('is done once; a repeat is answered with the ids of the first and marked as replayed', async () => {
    const test = await withQueue();
    const first = await enqueue(test, 'k', 1);
    expect(first).toMatchObject({
      status: 201,
      headers: expect.not.objectContaining({ 'idempotency-replayed': 'true' }),
    });
    const again = await enqueue(test, 'k', 1);
    expect(again).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
    expect(again.body).toEqual(first.body);
    expect((await info(test)).enqueued).toBe(1);
  });

  it('answers 422 to another content under its key, and 400 to a malformed key', async () => {
    const test = await withQueue();
    await enqueue(test, 'k', 1);
    expect(await enqueue(test, 'k', 2)).toMatchObject({
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED', retryable: false },
    });
    for (const key of ['', 'x'.repeat(201), 'a\tb']) {
      expect(await enqueue(test, key, 1)).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    }
    expect((await info(test)).enqueued).toBe(1);
  });

  it('answers 422 for unsharded and memory queues, for which a key could promise nothing', async () => {
    const test = await withQueue();
    await test.post('/api/queues', { name: 'unsharded', kind: 'unsharded' });
    await test.post('/api/queues', { name: 'memory', durability: 'memory' });
    for (const queue of ['unsharded', 'memory']) {
      expect(await test.post(`/api/queues/${queue}/messages`, messages(1), withKey('k'))).toMatchObject({
        status: 422,
        body: { code: 'IDEMPOTENCY_KEY_UNSUPPORTED' },
      });
      expect((await test.get<QueueInfo>(`/api/queues/${queue}`)).body.enqueued).toBe(0);
    }
  });

  it('is done once for a streamed payload, whose bytes and fields count', async () => {
    const test = await withQueue();
    const stream = (key: string, payload: string, query = '') =>
      test.post<Enqueued & ErrorBody>(`${url}/stream${query}`, payload, {
        ...withKey(key),
        'content-type': 'application/octet-stream',
      });
    for (const payload of ['small', 'x'.repeat(600_000)]) {
      const key = `k${payload.length}`;
      const first = await stream(key, payload);
      expect(first).toMatchObject({ status: 201 });
      expect(first.headers).not.toHaveProperty('idempotency-replayed');
      const again = await stream(key, payload);
      expect(again).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
      expect(again.body).toEqual(first.body);
      for (const other of [stream(key, `${payload}.`), stream(key, payload, '?correlationId=c')])
        expect(await other).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    }
    expect(await stream('ä', 'small')).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    expect((await info(test)).enqueued).toBe(2);
  });

  it('is repeated until an answer arrives, and each message is there once', async () => {
    const test = await withQueue();
    await test.app.listen({ host: '127.0.0.1', port: 0 });
    const port = listeningPort(test.app)!;
    const local = { host: `127.0.0.1:${port}` };
    const isThere = async (payload: number) => {
      const { body } = await test.get<{ messages: { payload: number }[] }>(url, local);
      return body.messages.some((message) => message.payload === payload);
    };
    for (let number = 0; number < 20; number += 1) {
      await sendAndHangUp(port, `key ${number}`, JSON.stringify(messages(number)));
      // Every second enqueue is known to be done before it is repeated; the others may or may not be.
      if (number % 2 === 0) await expect.poll(() => isThere(number), waiting).toBe(true);
      const headers = { ...local, ...withKey(`key ${number}`) };
      const answer = await test.post(url, messages(number), headers);
      expect(answer.status).toBe(201);
      if (number % 2 === 0) expect(answer.headers['idempotency-replayed']).toBe('true');
    }
    const { body } = await test.get<QueueInfo>('/api/queues/q', local);
    expect(body.enqueued).toBe(20);
  });

  it('is still known after the cluster got a second instance', { timeout: 60_000 }, async () => {
    const test = await withQueue();
    const first = await enqueue(test, 'k', 1);
    expect((await test.put('/api/cluster/topology', { instances: 2 })).status).toBe(200);
    for (let attempt = 0; attempt < 4; attempt += 1) {
      const again = await enqueue(test, 'k', 1);
      expect(again).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
      expect(again.body).toEqual(first.body);
    }
    expect((await enqueue(test, 'l', 1)).headers).not.toHaveProperty('idempotency-replayed');
    expect((await info(test)).ready).toBe(2);
  });
});

describe('a transaction with an idempotency key', () => {
  it('is done once with its rows and receipts; a repeat has its ids, and no results', async () => {
    const test = await withQueue();
    await enqueue(test, 'in', 'in');
    const { body: taken } = await test.post<Dequeued>('/api/queues/q/dequeue', {});
    const commit = (key: string, payload: unknown) =>
      test.post<Committed & ErrorBody>(
        '/api/transactions',
        {
          execute: [
            { sql: 'CREATE TABLE IF NOT EXISTS item (name TEXT)' },
            { sql: 'INSERT INTO item VALUES (?)', parameters: ['a'] },
          ],
          acknowledge: [{ queue: 'q', receipts: [taken.messages[0]!.receipt] }],
          enqueue: [{ queue: 'q', ...messages(payload) }],
        },
        withKey(key),
      );
    const first = await commit('k', 'out');
    expect(first).toMatchObject({ status: 200, body: { results: [{}, { changes: 1 }] } });
    const again = await commit('k', 'out');
    expect(again).toMatchObject({ status: 200, headers: { 'idempotency-replayed': 'true' } });
    expect(again.body).toEqual({ ids: first.body.ids });
    expect(await commit('k', 'other')).toMatchObject({
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
    expect(await commit('l', 'out')).toMatchObject({ status: 409, body: { code: 'RECEIPT_STALE' } });
    const { body } = await test.post<Committed>('/api/transactions', {
      execute: [{ sql: 'SELECT count(*) AS items FROM item' }],
    });
    expect(body.results![0]!.rows).toEqual([{ items: 1 }]);
    expect(await info(test)).toMatchObject({ enqueued: 2, consumed: 1 });
  });
});

it('the description of the API has the header of the request and that of the answer', async () => {
  const { get } = await startApp();
  const { body } = await get<{ paths: Record<string, { post: Operation }> }>('/openapi.json');
  for (const [path, status] of [
    ['/api/queues/{queue}/messages', '201'],
    ['/api/queues/{queue}/messages/stream', '201'],
    ['/api/transactions', '200'],
  ] as const) {
    const { parameters, responses } = body.paths[path]!.post;
    expect(parameters).toContainEqual(
      expect.objectContaining({
        in: 'header',
        name: 'idempotency-key',
        schema: expect.objectContaining({ maxLength: 200 }),
      }),
    );
    expect(Object.keys(responses[status]!.headers)).toEqual(['Idempotency-Replayed']);
    expect(responses[status]!.content['application/json'].schema).not.toHaveProperty('headers');
  }
});

interface Operation {
  parameters: unknown[];
  responses: Record<
    string,
    { headers: Record<string, unknown>; content: { 'application/json': { schema: object } } }
  >;
}

/** Sends an enqueue and ends the connection without reading. */
async function sendAndHangUp(port: number, key: string, body: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const head = [
    `POST ${url} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    `Idempotency-Key: ${key}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  await new Promise<void>((resolve) => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, () => resolve()));
  socket.destroy();
}
