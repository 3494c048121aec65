/** A statement that would run for hours is ended, and neither queues nor health checks nor a shutdown wait for it. */
import type { Cluster, Committed, ErrorBody, Health } from '@shardlab/contract';
import { describe, expect, it, vi } from 'vitest';
import { ServerProcess } from './server-process.ts';
import { makeDataDir, startApp, type TestApp, waiting } from './start-app.ts';

const tens = Array.from({ length: 10 }, (_, index) => `(${index + 1})`).join(',');
const tables = Array.from({ length: 13 }, (_, index) => `a ${'bcdefghijklmn'[index]}`).join(', ');
const endless = {
  execute: [{ sql: `WITH a(x) AS (VALUES ${tens}) SELECT count(*) FROM a, ${tables}` }],
};
const tooSlow = { status: 413, body: { code: 'SQL_TOO_SLOW', retryable: false, details: { msMax: 1_000 } } };

const runEndless = (test: TestApp) => test.post<ErrorBody>('/api/transactions', endless);

async function enqueue(test: TestApp, payload: string): Promise<void> {
  const { status } = await test.post('/api/queues/q/messages', { messages: [{ payload }] });
  expect(status).toBe(201);
}

describe('a statement that would run for hours', () => {
  it('is answered with 413, while other commits and health checks continue', async () => {
    const test = await startApp();
    await test.post('/api/queues', { name: 'q' });
    const slow = runEndless(test);
    await enqueue(test, 'meanwhile');
    expect((await test.get<Health>('/api/health')).body).toMatchObject({ status: 'ok' });
    expect(await slow).toMatchObject(tooSlow);
    await enqueue(test, 'after');
    const { body } = await test.post<Committed>('/api/transactions', {
      execute: [{ sql: 'SELECT 1 AS one' }],
    });
    expect(body.results).toEqual([{ rows: [{ one: 1 }], changes: 0, lastInsertRowid: null }]);
    expect((await test.get('/api/queues/q')).body).toMatchObject({ ready: 2 });
  });

  it('is ended when the server is told to end', async () => {
    const server = new ServerProcess({ DATA_DIR: makeDataDir() });
    const url = await server.ready();
    const slow = fetch(`${url}/api/transactions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(endless),
    });
    // The server has received the request once it has answered a later one over the same connection pool.
    await fetch(`${url}/api/health`);
    server.child.kill('SIGTERM');
    expect((await slow).status).toBe(413);
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(server.stderr).toBe('');
  });
});

it('in a cluster the instance with the tables survives such statements, also several', {
  timeout: 120_000,
}, async () => {
  const test = await startApp();
  await test.post('/api/queues', { name: 'q' });
  await test.put<Cluster>('/api/cluster/topology', { instances: 2 });
  const epochs = async () => {
    const { body } = await test.get<Cluster>('/api/cluster');
    return body.instances.map(({ instance, epoch, state }) => ({ instance, epoch, state }));
  };
  await vi.waitFor(async () => {
    for (const { state } of await epochs()) expect(state).toBe('up');
  }, waiting);
  const before = await epochs();
  for (const payload of ['1', '2']) {
    const slow = runEndless(test);
    await enqueue(test, payload);
    expect(await slow).toMatchObject(tooSlow);
  }
  expect(await epochs()).toEqual(before);
  const { body } = await test.post<Committed>('/api/transactions', { execute: [{ sql: 'SELECT 1 AS one' }] });
  expect(body.results?.[0]?.rows).toEqual([{ one: 1 }]);
});
