/** Payloads that are the whole body of a request or an answer, over real connections; they may be larger than any JSON body. */
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { connect } from 'node:net';
import type { ErrorBody, MessageOut, QueueInfo } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { listeningPort } from '../src/http/listening-port.ts';
import { shareApp } from './start-app.ts';

const MiB = 1024 * 1024;
const piece = Buffer.alloc(MiB, 'payload.');

interface Served {
  port: number;
  /** The address of the queue. */
  url: string;
  post<T>(path: string, body: unknown, contentType?: string): Promise<{ status: number; body: T }>;
  info(): Promise<QueueInfo>;
}

const sharedApp = shareApp();

/** A new queue in the app that the tests share, which listens. */
async function served(spec: Record<string, unknown> = {}): Promise<Served> {
  const { app, remove } = sharedApp();
  if (listeningPort(app) === null) await app.listen({ host: '127.0.0.1', port: 0 });
  await remove('/api/queues/files');
  const port = listeningPort(app)!;
  const host = `http://127.0.0.1:${port}`;
  const url = `${host}/api/queues/files`;
  const post = async <T>(path: string, body: unknown, contentType = 'application/json') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { 'content-type': contentType };
    const answer = await fetch(`${host}${path}`, { method: 'POST', body: text, headers });
    const answered = await answer.text();
    return { status: answer.status, body: (answered === '' ? null : JSON.parse(answered)) as T };
  };
  await post('/api/queues', { name: 'files', ...spec });
  return { port, url, post, info: async () => (await (await fetch(url)).json()) as QueueInfo };
}

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i += 1) yield piece;
}

function upload(url: string, count: number, query = ''): Promise<Response> {
  const body = ReadableStream.from(pieces(count));
  return fetch(`${url}/messages/stream${query}`, { method: 'POST', body, duplex: 'half' } as RequestInit);
}

async function dequeue({ post }: Served, options: Record<string, unknown> = {}): Promise<MessageOut> {
  const { body } = await post<{ messages: MessageOut[] }>('/api/queues/files/dequeue', options);
  return body.messages[0]!;
}

async function sha256(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}

describe('a payload that is the body of its request', () => {
  it('is returned as the body of an answer, and its message has all attributes of the address', async () => {
    const test = await served({ priorities: true });
    const properties = encodeURIComponent(JSON.stringify({ a: 'b' }));
    const answer = await upload(test.url, 20, `?correlationId=c&priority=3&properties=${properties}`);
    expect(answer.status).toBe(201);
    const { ids } = (await answer.json()) as { ids: string[] };
    const { receipt, ...message } = await dequeue(test);
    expect(message).toMatchObject({
      id: ids[0],
      streamedBytes: 20 * MiB,
      correlationId: 'c',
      priority: 3,
      properties: { a: 'b' },
    });
    expect(message).not.toHaveProperty('payload');
    expect(message).not.toHaveProperty('payloadBase64');
    const download = await fetch(`${test.url}/payload?receipt=${receipt}`);
    expect(download.headers.get('content-length')).toBe(String(20 * MiB));
    expect(download.headers.get('content-type')).toBe('application/octet-stream');
    expect(await sha256(download.body!)).toBe(await sha256(pieces(20)));
    expect(await test.info()).toMatchObject({ held: 1, consumed: 0 });
  });

  it('is consumed by the acknowledgement of its receipt, not by its download', async () => {
    const test = await served();
    await upload(test.url, 2);
    const { receipt } = await dequeue(test);
    for (const attempt of ['first', 'again']) {
      const download = await fetch(`${test.url}/payload?receipt=${receipt}`);
      expect(await sha256(download.body!), attempt).toBe(await sha256(pieces(2)));
    }
    expect(await test.info()).toMatchObject({ held: 1, consumed: 0 });
    expect((await test.post('/api/queues/files/ack', { receipts: [receipt] })).status).toBe(204);
    expect(await test.info()).toMatchObject({ held: 0, consumed: 1 });
    const stale = await fetch(`${test.url}/payload?receipt=${receipt}`);
    expect([stale.status, ((await stale.json()) as ErrorBody).code]).toEqual([409, 'RECEIPT_STALE']);
  });

  it('cannot be consumed by a GET, which a page of another site could send and which may not arrive', async () => {
    const test = await served();
    await test.post('/api/queues/files/messages', { messages: [{ payload: 'small' }] });
    const { receipt } = await dequeue(test);
    for (const query of ['ack=true', 'ack=1', 'ack']) {
      const answer = await fetch(`${test.url}/payload?receipt=${receipt}&${query}`);
      expect([answer.status, ((await answer.json()) as ErrorBody).code]).toEqual([400, 'REQUEST_INVALID']);
    }
    expect(await test.info()).toMatchObject({ held: 1, consumed: 0 });
  });

  it('is not consumed by a download that the client aborted', async () => {
    const test = await served();
    await upload(test.url, 50);
    const { receipt } = await dequeue(test);
    await new Promise<void>((resolve) => {
      const download = request(`${test.url}/payload?receipt=${receipt}`, (answer) => {
        answer.once('data', () => download.destroy());
      });
      download.on('error', () => undefined);
      download.on('close', () => resolve());
      download.end();
    });
    await test.post('/api/queues/files/nack', { receipts: [receipt] });
    expect(await test.info()).toMatchObject({ ready: 1, consumed: 0 });
  });

  it('of a small message is downloaded in the same way', async () => {
    const test = await served();
    await test.post('/api/queues/files/messages', { messages: [{ payload: { a: 1 } }] });
    const { receipt } = await dequeue(test);
    const download = await fetch(`${test.url}/payload?receipt=${receipt}`);
    expect(download.headers.get('content-type')).toBe('application/json');
    expect(await download.json()).toEqual({ a: 1 });
  });

  it('is kept with its message after a dequeue at most once, which gives a receipt to download it', async () => {
    const test = await served();
    await test.post('/api/queues/files/messages', { messages: [{ payload: 'small' }] });
    await upload(test.url, 2);
    const { body } = await test.post<{ messages: MessageOut[] }>('/api/queues/files/dequeue', {
      mode: 'at-most-once',
      max: 9,
    });
    const streamed = body.messages.find(({ streamedBytes }) => streamedBytes !== undefined)!;
    const small = body.messages.find(({ payload }) => payload === 'small')!;
    expect(small.receipt).toBeUndefined();
    expect(await test.info()).toMatchObject({ held: 1, consumed: 1 });
    const download = await fetch(`${test.url}/payload?receipt=${streamed.receipt}`);
    expect(await sha256(download.body!)).toBe(await sha256(pieces(2)));
  });

  it('is shown by its length in a browse', async () => {
    const test = await served();
    await upload(test.url, 2);
    const browsed = await fetch(`${test.url}/messages`);
    const body = (await browsed.json()) as { messages: MessageOut[] };
    expect(body.messages).toMatchObject([{ streamedBytes: 2 * MiB, state: 'ready' }]);
  });
});

it('the description of the API has payloads as bytes, in requests and answers', async () => {
  interface Description {
    paths: {
      '/api/queues/{queue}/messages/stream': { post: { requestBody: { content: unknown } } };
      '/api/queues/{queue}/payload': { get: { parameters: { name: string }[] } };
    };
  }
  const { paths } = (await sharedApp().get<Description>('/openapi.json')).body;
  expect(paths['/api/queues/{queue}/messages/stream'].post.requestBody.content).toEqual({
    'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
  });
  expect(paths['/api/queues/{queue}/payload'].get.parameters.map(({ name }) => name)).toEqual([
    'receipt',
    'queue',
  ]);
});

describe('a body that cannot be a payload', () => {
  it('leaves nothing if the client disconnects before its end', async () => {
    const test = await served();
    const socket = connect(test.port, '127.0.0.1');
    socket.write(
      `POST /api/queues/files/messages/stream HTTP/1.1\r\nHost: 127.0.0.1:${test.port}\r\nContent-Length: ${2 * MiB}\r\n\r\n`,
    );
    await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
    socket.destroy();
    await upload(test.url, 1);
    expect(await test.info()).toMatchObject({ enqueued: 1 });
  });

  it('is refused with 413 before it is read if it says that it is too large', async () => {
    const test = await served();
    const socket = connect(test.port, '127.0.0.1');
    socket.write(
      `POST /api/queues/files/messages/stream HTTP/1.1\r\nHost: 127.0.0.1:${test.port}\r\nContent-Length: 1073741825\r\n\r\n`,
    );
    let answer = '';
    for await (const text of socket.setEncoding('utf8')) {
      answer += text;
      if (answer.includes('"retryable"')) break;
    }
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer.toLowerCase()).toContain('connection: close');
    expect(answer).toContain('"code":"PAYLOAD_TOO_LARGE"');
  });

  it.each([
    ['no such queue', '/api/queues/none/messages/stream', 404, 'QUEUE_NOT_FOUND'],
    [
      'properties that are no object',
      '/api/queues/files/messages/stream?properties=1',
      422,
      'MESSAGE_INVALID',
    ],
    ['a field that there is not', '/api/queues/files/messages/stream?x=1', 400, 'REQUEST_INVALID'],
    [
      'a priority where there are none',
      '/api/queues/files/messages/stream?priority=1',
      422,
      'MESSAGE_INVALID',
    ],
  ])('is refused for %s', async (_, url, status, code) => {
    const test = await served();
    const { status: found, body } = await test.post<ErrorBody>(url, 'x', 'application/octet-stream');
    expect([found, body.code]).toEqual([status, code]);
  });

  it('is refused by a queue that does not support streams', async () => {
    const test = await served({ durability: 'memory' });
    const answer = await upload(test.url, 1);
    expect([answer.status, ((await answer.json()) as ErrorBody).code]).toEqual([422, 'STREAM_UNSUPPORTED']);
  });

  it('is refused as bytes by routes that expect JSON', async () => {
    const test = await served();
    const type = 'application/octet-stream';
    const { status, body } = await test.post<ErrorBody>('/api/queues/files/messages', 'x', type);
    expect([status, body.code]).toEqual([415, 'CONTENT_TYPE_UNSUPPORTED']);
  });
});
