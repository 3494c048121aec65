/** Connections to the server's port that processes of instances have accepted. */
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Cluster, Dequeued, Enqueued, QueueInfo, QueueStats } from '@shardlab/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AppOptions } from '../src/app.ts';
import { listeningPort } from '../src/http/listening-port.ts';
import { startApp, type TestApp, waiting } from './start-app.ts';

interface Answer<Body> {
  status: number;
  headers: IncomingHttpHeaders;
  body: Body;
}

/** A client that makes all its calls over one connection. */
class Connection {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #sockets = new Set<unknown>();

  constructor({ app }: TestApp) {
    this.#port = listeningPort(app)!;
    onTestFinished(() => this.#agent.destroy());
  }

  /** How many connections were made so far: more than one if it was broken. */
  get made(): number {
    return this.#sockets.size;
  }

  /** Rejects if the connection breaks. */
  call<Body = unknown>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const { sent, answer } = this.#begin<Body>(method, path, {
      ...headers,
      ...(body === undefined ? {} : json),
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    return answer;
  }

  post<Body = unknown>(path: string, body?: unknown, headers?: Record<string, string>) {
    return this.call<Body>('POST', path, body, headers);
  }

  /** Sends a request, and resolves once the process that answers has read its headers. */
  async beginPost<Body>(path: string, body: unknown): Promise<{ answer: Promise<Answer<Body>> }> {
    const { sent, answer } = this.#begin<Body>('POST', path, { ...json, expect: '100-continue' });
    sent.flushHeaders();
    await once(sent, 'continue');
    sent.end(JSON.stringify(body));
    return { answer };
  }

  #begin<Body>(method: string, path: string, headers: Record<string, string>) {
    const sent = request({
      port: this.#port,
      host: '127.0.0.1',
      agent: this.#agent,
      method,
      path,
      headers,
    });
    sent.once('socket', (socket) => this.#sockets.add(socket));
    const { promise: answer, resolve, reject } = Promise.withResolvers<Answer<Body>>();
    sent.once('error', (cause) => reject(new Error(`${method} ${path}`, { cause })));
    sent.once('response', (response) => {
      const { statusCode, headers } = response;
      text(response).then((body) => {
        resolve({ status: statusCode!, headers, body: (body === '' ? undefined : JSON.parse(body)) as Body });
      }, reject);
    });
    return { sent, answer };
  }
}

const json = { 'content-type': 'application/json' };

/** Two instances, each with its process, and a queue. */
async function startTwo(options: Partial<AppOptions> = {}): Promise<TestApp> {
  const test = await startApp(options);
  await test.app.listen({ host: '127.0.0.1', port: 0 });
  const headers = options.key == null ? {} : { authorization: `Bearer ${options.key}` };
  const server = new Connection(test);
  await server.call('PUT', '/api/cluster/topology', { instances: 2 }, headers);
  expect((await server.post('/api/queues', { name: 'q' }, headers)).status).toBe(201);
  return test;
}

const messages = '/api/queues/q/messages';
const dequeue = '/api/queues/q/dequeue';

const timeout = 60_000;

describe('with several instances', () => {
  it('one process delivers and acknowledges messages that another one enqueued', { timeout }, async () => {
    const test = await startTwo();
    const [a, b] = [new Connection(test), new Connection(test)];
    const ids = new Set<string>();
    for (const connection of [a, b, a, b]) {
      const { status, body } = await connection.post<Enqueued>(messages, { messages: [{ payload: 1 }] });
      expect(status).toBe(201);
      ids.add(body.ids[0]!);
    }
    expect(ids.size).toBe(4);
    const { instances } = (await test.get<QueueStats>('/api/queues/q/stats')).body;
    expect(instances.map(({ total }) => total.depth)).toEqual([2, 2]);
    // Each connection dequeues messages of both instances, and the other one acknowledges them.
    const got = new Set<string>();
    while (got.size < 4) {
      const [taker, finisher] = got.size % 2 === 0 ? [a, b] : [b, a];
      const { body } = await taker.post<Dequeued>(dequeue, { max: 1, waitMs: 5_000 });
      const receipts = body.messages.map(({ receipt }) => receipt);
      if (receipts.length === 0) continue;
      expect((await finisher.post('/api/queues/q/extend', { receipts, holdMs: 20_000 })).status).toBe(204);
      expect((await finisher.post('/api/queues/q/ack', { receipts })).status).toBe(204);
      expect((await taker.post('/api/queues/q/ack', { receipts })).status).toBe(409);
      for (const { id } of body.messages) got.add(id);
    }
    expect(got).toEqual(ids);
    expect((await test.get<QueueInfo>('/api/queues/q')).body).toMatchObject({
      ready: 0,
      held: 0,
      consumed: 4,
    });
    expect([a.made, b.made]).toEqual([1, 1]);
  });

  it('the server answers those calls of such a connection that the process cannot answer itself', {
    timeout,
  }, async () => {
    const test = await startTwo();
    const connection = new Connection(test);
    const key = { 'idempotency-key': 'once' };
    expect((await connection.post(messages, { messages: [{ payload: 1 }] })).status).toBe(201);
    expect((await connection.call<QueueInfo>('GET', '/api/queues/q')).body).toMatchObject({ ready: 1 });
    expect((await connection.post('/api/queues/q/stop')).status).toBe(200);
    expect(await connection.post(messages, { messages: [{ payload: 2 }] })).toMatchObject({
      status: 409,
      body: { code: 'ENQUEUE_STOPPED' },
    });
    expect((await connection.post('/api/queues/q/start', {})).status).toBe(200);
    const first = await connection.post<Enqueued>(messages, { messages: [{ payload: 3 }] }, key);
    const again = await connection.post<Enqueued>(messages, { messages: [{ payload: 3 }] }, key);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(await connection.post(messages, { messages: [{}] })).toMatchObject({
      status: 400,
      body: { code: 'REQUEST_INVALID' },
    });
    expect(await connection.post(messages, { messages: [] }, { host: 'evil.example' })).toMatchObject({
      status: 403,
      body: { code: 'HOST_REFUSED' },
    });
    expect((await connection.call('GET', '/api/nothing')).status).toBe(404);
    expect(connection.made).toBe(1);
  });

  it('the processes accept the same keys and sessions as the server', { timeout }, async () => {
    const test = await startTwo({ key: 'right key', monotonicMs: () => 1_000 });
    const connection = new Connection(test);
    const body = { messages: [{ payload: 1 }] };
    const enqueue = (headers: Record<string, string>) => connection.post(messages, body, headers);
    expect((await enqueue({})).status).toBe(401);
    expect((await enqueue({ authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await enqueue({ authorization: 'Bearer right key' })).status).toBe(201);
    expect((await enqueue({ authorization: 'Bearer right key' })).status).toBe(201);
    expect((await enqueue({ authorization: 'Bearer wrong' })).status).toBe(401);
    const login = await connection.post('/api/session', { key: 'right key' });
    expect(login.status).toBe(200);
    const [cookie] = login.headers['set-cookie']![0]!.split(';');
    expect((await enqueue({ cookie: cookie! })).status).toBe(201);
    expect((await connection.call('DELETE', '/api/session', undefined, { cookie: cookie! })).status).toBe(
      204,
    );
    expect((await enqueue({ cookie: cookie! })).status).toBe(401);
    // Wrong keys sent to several processes count together for one client, and never lock out the right one.
    const other = new Connection(test);
    const statuses = new Set<number>();
    for (let guess = 0; guess < 12; guess += 1) {
      const headers = { authorization: `Bearer guess ${guess}` };
      statuses.add((await [connection, other][guess % 2]!.post(messages, body, headers)).status);
    }
    expect(statuses).toEqual(new Set([401, 429]));
    const fresh = new Connection(test);
    expect((await fresh.post(messages, body, { authorization: 'bearer  right key' })).status).toBe(201);
  });

  it('a killed process breaks its own connections only', { timeout }, async () => {
    const test = await startTwo();
    const [a, b] = [new Connection(test), new Connection(test)];
    for (const connection of [a, b, a, b]) await connection.post(messages, { messages: [{ payload: 1 }] });
    // Each connection is now with another process.
    expect((await test.post('/api/queues', { name: 'empty' })).status).toBe(201);
    const ends = [a, b].map((connection, at) =>
      connection.post('/api/queues/empty/dequeue', { waitMs: 30_000 }).then(
        ({ status }) => ({ at, status }),
        () => ({ at, status: 'broken' as const }),
      ),
    );
    const { status, body } = await test.get<Cluster>('/api/cluster');
    expect(status, JSON.stringify(body)).toBe(200);
    process.kill(body.processes.find(({ instance }) => instance === 1)!.pid, 'SIGKILL');
    const broken = await Promise.race(ends);
    expect(broken.status).toBe('broken');
    // The port is served again at once, and acknowledged messages are there.
    const later = new Connection(test);
    await vi.waitFor(async () => {
      const { status } = await later.post('/api/queues/empty/messages', { messages: [{ payload: 2 }] });
      expect(status).toBe(201);
    }, waiting);
    expect(await ends[1 - broken.at]).toMatchObject({ status: 200 });
    const got = new Set<string>();
    while (got.size < 4) {
      const { body } = await later.post<Dequeued>(dequeue, { max: 10, waitMs: 5_000 });
      for (const { id } of body.messages ?? []) got.add(id);
    }
  });

  it('closing the server ends waiting calls with an answer', { timeout }, async () => {
    const test = await startTwo();
    const connection = new Connection(test);
    await connection.post(messages, { messages: [{ payload: 1 }] });
    await connection.post(dequeue);
    const waiter = await connection.beginPost<Dequeued>(dequeue, { waitMs: 30_000 });
    await test.close();
    expect(await waiter.answer).toMatchObject({ status: 200, body: { messages: [] } });
  });
});
