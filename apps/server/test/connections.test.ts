import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import type { Browsed, QueueInfo } from '@shardlab/contract';
import { openInstance } from '@shardlab/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listeningPort } from '../src/http/listening-port.ts';
import { ConnectionSessions } from '../src/queues/connection-sessions.ts';
import { sendRaw } from './raw-client.ts';
import { makeDataDir, startApp } from './start-app.ts';

describe('many callers at once', () => {
  it('never get an error from a busy session, and every message is committed once', async () => {
    const { post, get } = await startApp();
    await post('/api/queues', { name: 'q', shards: 4, durability: 'relaxed' });
    const calls = Array.from({ length: 200 }, (_, payload) =>
      post('/api/queues/q/messages', { messages: [{ payload }, { payload }] }),
    );
    const takers = Array.from({ length: 100 }, () =>
      post('/api/queues/q/dequeue', { mode: 'at-most-once', max: 3, waitMs: 1 }),
    );
    expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([201]));
    const taken = (await Promise.all(takers)).map(({ status }) => status);
    expect(new Set(taken)).toEqual(new Set([200]));
    const { enqueued, ready, consumed } = (await get<QueueInfo>('/api/queues/q')).body;
    expect(enqueued).toBe(400);
    expect(ready + consumed).toBe(400);
  });

  it('keep their order on one shard if they pipeline requests on one connection', async () => {
    const { app, post } = await startApp();
    await post('/api/queues', { name: 'q', shards: 8, durability: 'relaxed' });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const port = listeningPort(app)!;
    const requests = Array.from({ length: 50 }, (_, payload) => {
      const body = JSON.stringify({ messages: [{ payload }] });
      const close = payload === 49 ? 'Connection: close\r\n' : '';
      return `POST /api/queues/q/messages HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${close}\r\n${body}`;
    });
    const answer = await sendRaw(port, requests.join(''));
    expect(answer.match(/HTTP\/1\.1 201/g)).toHaveLength(50);
    const response = await fetch(`http://127.0.0.1:${port}/api/queues/q/messages?limit=100`);
    const { messages } = (await response.json()) as Browsed;
    expect(messages.map(({ payload }) => payload)).toEqual(Array.from({ length: 50 }, (_, index) => index));
    expect(new Set(messages.map(({ id }) => id.split('.')[0])).size).toBe(1);
  });
});

describe('the sessions of connections', () => {
  async function sessions(max: number) {
    const instance = await openInstance({ dir: join(makeDataDir(), 'cluster') });
    onTestFinished(() => instance.close());
    return new ConnectionSessions(instance, max);
  }
  const idle = async () => {};

  it('are one for each connection and queue, and end with the connection', async () => {
    const all = await sessions(10);
    const [a, b] = [new EventEmitter(), new EventEmitter()];
    const ids = new Set<string>();
    for (const connection of [a, b, a]) {
      for (const queue of ['x', 'y']) await all.run(connection, queue, async ({ id }) => void ids.add(id));
    }
    expect([ids.size, all.size]).toEqual([4, 4]);
    a.emit('close');
    expect(all.size).toBe(2);
  });

  it('end the one that was idle longest to make room, and refuse calls while all are busy', async () => {
    const all = await sessions(2);
    const work = Promise.withResolvers<void>();
    const busy = ['a', 'b'].map((queue) => all.run(new EventEmitter(), queue, () => work.promise));
    await expect(all.run(new EventEmitter(), 'c', idle)).rejects.toMatchObject({ code: 'CONNECTIONS_FULL' });
    work.resolve();
    await Promise.all(busy);
    await all.run(new EventEmitter(), 'c', idle);
    expect(all.size).toBe(2);
  });

  it('let a call finish after its connection has closed, and a failed call does not affect the next', async () => {
    const all = await sessions(2);
    const connection = new EventEmitter();
    const work = Promise.withResolvers<string>();
    const call = all.run(connection, 'a', () => work.promise);
    connection.emit('close');
    work.resolve('committed');
    expect(await call).toBe('committed');
    await expect(all.run(connection, 'a', () => Promise.reject(new Error('refused')))).rejects.toThrow(
      'refused',
    );
    expect(await all.run(connection, 'a', async () => 'next')).toBe('next');
  });
});

describe('what is not HTTP', () => {
  it('gets a typed error too, and a request without a Host gets no data', async () => {
    const { app } = await startApp();
    await app.listen({ host: '127.0.0.1', port: 0 });
    const port = listeningPort(app)!;
    const send = async (text: string) => {
      const answer = await sendRaw(port, text);
      return [answer.split(' ')[1], JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).code];
    };
    expect(await send('nonsense\r\n\r\n')).toEqual(['400', 'REQUEST_INVALID']);
    expect(await send('GET /api/health HTTP/1.0\r\n\r\n')).toEqual(['403', 'HOST_REFUSED']);
    const two = `GET /api/health HTTP/1.1\r\nHost: localhost:${port}\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`;
    expect(await send(two)).toEqual(['400', 'REQUEST_INVALID']);
    const long = `GET /api/health HTTP/1.1\r\nHost: localhost:${port}\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`;
    expect(await send(long)).toEqual(['431', 'HEADERS_TOO_LARGE']);
  });
});
