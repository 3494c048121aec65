/** Clients that end their sending side after the request, and still read: they get their answers. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { QueueInfo } from '@shardlab/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { listeningPort } from '../src/http/listening-port.ts';
import { startApp, type TestApp, untilDequeuesUnderWay, waiting } from './start-app.ts';

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`fixtures/${name}`, import.meta.url)), 'utf8');
const tls = { cert: fixture('localhost-cert.pem'), key: fixture('localhost-key.pem') };

async function listening(options: Parameters<typeof startApp>[0] = {}) {
  const test = await startApp(options);
  await test.app.listen({ host: '127.0.0.1', port: 0 });
  await test.post('/api/queues', { name: 'q' });
  return { test, port: listeningPort(test.app)! };
}

/** Sends one request and ends the sending side. Resolves with all that the server has sent before it closes. */
function half(
  socket: Socket,
  port: number,
  path: string,
  body?: unknown,
  { version = '1.1', headers = [] }: { version?: string; headers?: string[] } = {},
): Promise<string> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const head = [
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/${version}`,
    `Host: localhost:${port}`,
    ...headers,
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${text.length}`]),
  ];
  onTestFinished(() => void socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  return new Promise((resolve, reject) => {
    let answer = '';
    socket.setEncoding('utf8').on('data', (data: string) => {
      answer += data;
    });
    socket.on('end', () => resolve(answer)).on('error', reject);
  });
}

/** Of the answer: interim responses may come before, on a busy machine. */
const statusOf = (text: string) => Number([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].at(-1)?.[1]);

const message = { messages: [{ payload: 'x' }] };

const calls: [what: string, path: string, body: unknown, status: number][] = [
  ['an enqueue', '/api/queues/q/messages', message, 201],
  ['a transaction', '/api/transactions', { enqueue: [{ queue: 'q', ...message }] }, 200],
  ['a dequeue', '/api/queues/q/dequeue', {}, 200],
  ['a new queue', '/api/queues', { name: 'q' }, 409],
  ['a read', '/api/queues/q', undefined, 200],
  ['a browse', '/api/queues/q/messages', undefined, 200],
];

describe('a half-closed client gets the answer', () => {
  it.each([
    ['HTTP', null],
    ['HTTPS', tls],
  ] as const)('of each call by %s', async (_scheme, files) => {
    const { port } = await listening({ tls: files });
    for (const [what, path, body, status] of calls) {
      const socket =
        files === null
          ? connect(port, '127.0.0.1')
          : connectTls({ port, host: 'localhost', ca: files.cert, allowHalfOpen: true } as ConnectionOptions);
      expect([what, statusOf(await half(socket, port, path, body))]).toEqual([what, status]);
    }
  });

  it('of all requests that it pipelined', async () => {
    const { port } = await listening();
    const one = `GET /api/queues/q HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`;
    const socket = connect(port, '127.0.0.1');
    socket.write(one + one);
    expect((await half(socket, port, '/api/queues/q')).match(/HTTP\/1\.1 200/g)).toHaveLength(3);
  });

  it('of a dequeue that waits, after interim responses that say nothing', async () => {
    const { test, port } = await listening();
    const answer = half(connect(port, '127.0.0.1'), port, '/api/queues/q/dequeue', { waitMs: 30_000 });
    await untilWaiting(test, port, 1);
    await test.post('/api/queues/q/messages', message, hostOf(port));
    expect(await answer).toMatch(/^(HTTP\/1\.1 100 Continue\r\n\r\n)+HTTP\/1\.1 200 OK\r\n.*"payload":"x"/s);
  });

  it('and a body that ends too early is refused', async () => {
    const { port } = await listening();
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /api/queues HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n`,
    );
    expect(statusOf(await half(socket, port, '/', undefined))).toBe(400);
  });
});

describe('with several instances', () => {
  it('a half-closed client gets the answer of each process, and a closed one takes nothing', {
    timeout: 60_000,
  }, async () => {
    const { test, port } = await listening();
    await test.app.inject({
      method: 'PUT',
      url: '/api/cluster/topology',
      headers: hostOf(port),
      payload: { instances: 2 },
    });
    const path = '/api/queues/q';
    const call = (to: string, body: unknown, ...headers: string[]) =>
      half(connect(port, '127.0.0.1'), port, `${path}/${to}`, body, { headers });
    expect(statusOf(await call('messages', message))).toBe(201);
    expect(statusOf(await call('messages', message, 'Idempotency-Key: once'))).toBe(201);
    for (const by of [[], [`Origin: http://localhost:${port}`]]) {
      expect(statusOf(await call('dequeue', { mode: 'at-most-once' }, ...by))).toBe(200);
    }
    // The server answers what comes from a page, by way of the process that has the connection.
    const socket = connect(port, '127.0.0.1');
    const headers = [`Origin: http://localhost:${port}`];
    void half(socket, port, `${path}/dequeue`, { waitMs: 30_000 }, { headers }).catch(() => undefined);
    await untilWaiting(test, port, 1);
    socket.destroy();
    await untilWaiting(test, port, 0);
    await call('messages', message);
    // Counts are of the instances that answer, which on a busy machine may be one of the two for a moment.
    await vi.waitFor(async () => {
      const { body } = await test.get<QueueInfo>(path, hostOf(port));
      expect(body).toMatchObject({ ready: 1, held: 0, consumed: 2 });
    }, waiting);
  });
});

describe('a client that has closed its connection', () => {
  it.each(['1.1', '1.0'])('ends the dequeue that waits for it (HTTP/%s)', async (version) => {
    const { test, port } = await listening();
    const socket = connect(port, '127.0.0.1');
    void half(socket, port, '/api/queues/q/dequeue', { waitMs: 30_000 }, { version }).catch(() => undefined);
    if (version === '1.1') await untilWaiting(test, port, 1);
    socket.destroy();
    await untilWaiting(test, port, 0);
    await test.post('/api/queues/q/messages', message, hostOf(port));
    const { body } = await test.get<QueueInfo>('/api/queues/q', hostOf(port));
    expect(body).toMatchObject({ ready: 1, held: 0 });
  });
});

const hostOf = (port: number) => ({ host: `localhost:${port}` });
const untilWaiting = (test: TestApp, port: number, count: number) =>
  untilDequeuesUnderWay({ ...test, get: (path: string) => test.get(path, hostOf(port)) } as TestApp, count);
