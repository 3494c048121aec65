import type { Committed, Dequeued, ErrorBody, QueueInfo } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { startApp, type TestApp } from './start-app.ts';

async function withTable(): Promise<TestApp> {
  const test = await startApp();
  await test.post('/api/queues', { name: 'orders' });
  await test.post('/api/queues', { name: 'mails' });
  await commit(test, {
    execute: [{ sql: 'CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT UNIQUE, data)' }],
  });
  return test;
}

const commit = (test: TestApp, body: unknown) => test.post<Committed & ErrorBody>('/api/transactions', body);
const info = async ({ get }: TestApp, queue: string) => (await get<QueueInfo>(`/api/queues/${queue}`)).body;

describe('a transaction', () => {
  it('commits rows, acknowledgements and messages of several queues together', async () => {
    const test = await withTable();
    await test.post('/api/queues/orders/messages', { messages: [{ payload: { name: 'Ada' } }] });
    const { body: taken } = await test.post<Dequeued>('/api/queues/orders/dequeue', {});
    const { status, body } = await commit(test, {
      execute: [
        { sql: 'INSERT INTO customer (name) VALUES (?)', parameters: ['Ada'] },
        { sql: 'SELECT id, name FROM customer WHERE name = :name', parameters: { name: 'Ada' } },
      ],
      acknowledge: [{ queue: 'orders', receipts: [taken.messages[0]!.receipt] }],
      enqueue: [
        { queue: 'mails', messages: [{ payload: 1 }, { payloadBase64: 'AA==' }] },
        { queue: 'orders', messages: [{ payload: 3 }] },
      ],
    });
    expect(status).toBe(200);
    expect(body.ids.map((ids) => ids.length)).toEqual([2, 1]);
    expect(body.results).toEqual([
      { rows: [], changes: 1, lastInsertRowid: 1 },
      { rows: [{ id: 1, name: 'Ada' }], changes: 0, lastInsertRowid: null },
    ]);
    expect(await info(test, 'orders')).toMatchObject({ consumed: 1, ready: 1, held: 0 });
    expect(await info(test, 'mails')).toMatchObject({ ready: 2 });
  });

  it('changes nothing if one part of it fails', async () => {
    const test = await withTable();
    const enqueue = [{ queue: 'mails', messages: [{ payload: 1 }] }];
    const insert = { sql: "INSERT INTO customer (name) VALUES ('Ada')" };
    const twice = await commit(test, { execute: [insert, insert], enqueue });
    expect(twice).toMatchObject({
      status: 409,
      body: { code: 'SQL_FAILED', details: { statement: 1, sqlite: 'SQLITE_CONSTRAINT_UNIQUE' } },
    });
    const stale = await commit(test, {
      execute: [insert],
      acknowledge: [{ queue: 'mails', receipts: ['1.1.1'] }],
    });
    expect(stale).toMatchObject({ status: 409, body: { code: 'RECEIPT_STALE' } });
    const nowhere = await commit(test, { execute: [insert], enqueue: [{ ...enqueue[0], queue: 'nowhere' }] });
    expect(nowhere).toMatchObject({ status: 404, body: { code: 'QUEUE_NOT_FOUND' } });
    const engine = await commit(test, { execute: [insert, { sql: 'SELECT * FROM meta' }], enqueue });
    expect(engine).toMatchObject({ status: 422, body: { code: 'SQL_REFUSED' } });
    const { body } = await commit(test, { execute: [{ sql: 'SELECT * FROM customer' }] });
    expect(body.results![0]!.rows).toEqual([]);
    expect(await info(test, 'mails')).toMatchObject({ enqueued: 0 });
  });

  it('keeps integers past 2^53 and bytes exact, and refuses JSON numbers that would have lost digits', async () => {
    const test = await withTable();
    const values = [
      { integer: '9223372036854775807' },
      { base64: 'AP8=' },
      { real: 'Infinity' },
      0.5,
      -7,
      'x',
      null,
    ];
    const { body } = await commit(test, {
      execute: values.flatMap((value) => [
        { sql: 'INSERT INTO customer (data) VALUES (?) RETURNING data', parameters: [value] },
      ]),
    });
    expect(body.results!.map(({ rows }) => rows[0]!.data)).toEqual(values);
    const { status, body: refused } = await test.postText(
      '/api/transactions',
      '{"execute": [{"sql": "SELECT 1"}, {"sql": "SELECT ?", "parameters": [1, 9007199254740993]}]}',
    );
    expect(status).toBe(400);
    expect(refused).toMatchObject({
      code: 'REQUEST_INVALID',
      details: { errors: [{ path: '/execute/1/parameters/1' }] },
    });
  });

  it.each<[string, unknown, number, string]>([
    ['nothing', {}, 400, 'REQUEST_INVALID'],
    ['an unknown field', { execute: [], also: 1 }, 400, 'REQUEST_INVALID'],
    ['a session', { execute: [], session: 's' }, 422, 'FEATURE_UNSUPPORTED'],
    ['a value that is none', { execute: [{ sql: 'SELECT ?', parameters: [true] }] }, 400, 'REQUEST_INVALID'],
    [
      'base64 that is none',
      { execute: [{ sql: 'SELECT ?', parameters: [{ base64: '?' }] }] },
      400,
      'REQUEST_INVALID',
    ],
    ['a message without payload', { enqueue: [{ queue: 'mails', messages: [{}] }] }, 400, 'REQUEST_INVALID'],
    ['a pragma', { execute: [{ sql: 'PRAGMA foreign_keys = OFF' }] }, 422, 'SQL_REFUSED'],
    ['a syntax error', { execute: [{ sql: 'SELECT FROM' }] }, 422, 'SQL_INVALID'],
  ])('is refused with %s', async (_, body, status, code) => {
    const test = await withTable();
    expect(await commit(test, body)).toMatchObject({ status, body: { code } });
  });
});
