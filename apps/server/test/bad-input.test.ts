import type { Browsed, ErrorBody, Fault } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { shareApp, smallScenario, startApp } from './start-app.ts';

type Refused = ErrorBody & { errors: Fault[] };

const messagesUrl = '/api/queues/q/messages';
const dequeueUrl = '/api/queues/q/dequeue';
const sharedApp = shareApp();

describe('a malformed request', () => {
  it.each<[string, string, unknown, string[]]>([
    ['an unknown field', '/api/queues', { name: 'a', colour: 'red' }, ['/colour']],
    [
      'a prototype key',
      '/api/queues',
      JSON.parse('{"name":"a","__proto__":{"kind":"sharded"}}'),
      ['/__proto__'],
    ],
    ['several faults', '/api/queues', { name: '1', kind: 'x', shards: 99 }, ['/kind', '/name', '/shards']],
    ['a missing field', '/api/queues', {}, ['/name']],
    ['a number as text', '/api/queues', { name: 'a', shards: '2' }, ['/shards']],
    ['no object', '/api/queues', [1], ['']],
    ['10⁹ shards', '/api/queues', { name: 'a', shards: 1e9 }, ['/shards']],
    ['no messages', messagesUrl, { messages: [] }, ['/messages']],
    ['1001 messages', messagesUrl, { messages: Array(1001).fill({ payload: 1 }) }, ['/messages']],
    ['a message without a payload', messagesUrl, { messages: [{}] }, ['/messages/0']],
    [
      'two payloads',
      messagesUrl,
      { messages: [{ payload: 1 }, { payload: 1, payloadBase64: '' }] },
      ['/messages/1'],
    ],
    ['loose base64', messagesUrl, { messages: [{ payloadBase64: 'a_b' }] }, ['/messages/0/payloadBase64']],
    [
      'base64 without padding',
      messagesUrl,
      { messages: [{ payloadBase64: 'YQ' }] },
      ['/messages/0/payloadBase64'],
    ],
    [
      'a property that is no text',
      messagesUrl,
      { messages: [{ payload: 1, properties: { a: 1 } }] },
      ['/messages/0/properties/a'],
    ],
    [
      'a reserved property',
      messagesUrl,
      { messages: [{ payload: 1, properties: { 'shardlab-x': '' } }] },
      ['/messages/0/properties/shardlab-x'],
    ],
    [
      'an unknown field of a message',
      messagesUrl,
      { messages: [{ payload: 1, ttl: 5 }] },
      ['/messages/0/ttl'],
    ],
    ['a wait of an hour', dequeueUrl, { waitMs: 3_600_000 }, ['/waitMs']],
    ['a negative maximum', dequeueUrl, { max: -1 }, ['/max']],
    ['half a message', dequeueUrl, { max: 1.5 }, ['/max']],
    ['an unknown mode', dequeueUrl, { mode: 'sometimes' }, ['/mode']],
    ['no receipts', '/api/queues/q/ack', { receipts: [] }, ['/receipts']],
    ['a receipt that is no text', '/api/queues/q/nack', { receipts: [1] }, ['/receipts/0']],
    ['an extension without its length', '/api/queues/q/extend', { receipts: ['a'] }, ['/holdMs']],
    ['an unknown scale', '/api/runs', { scenario: 'first-look', scale: 'huge' }, ['/scale']],
    ['no scenario', '/api/runs', {}, ['/scenario']],
    ['a scenario that is a number', '/api/runs', { scenario: 5 }, ['/scenario']],
  ])('with %s is refused at its path', async (_what, url, body, paths) => {
    const { post } = sharedApp();
    const answer = await post<Refused>(url, body);
    expect([answer.status, answer.body.code]).toEqual([400, 'REQUEST_INVALID']);
    expect(answer.body.errors.map(({ path }) => path).sort()).toEqual(paths);
    expect(answer.body.details?.errors).toEqual(answer.body.errors);
    for (const { message } of answer.body.errors) expect(message).toMatch(/^[A-Z].{5,}/);
  });

  it('in its query is refused at its path', async () => {
    const { get } = sharedApp();
    for (const [url, path] of [
      ['/api/queues/q/messages?limit=0', '/limit'],
      ['/api/queues/q/messages?limit=ten', '/limit'],
      ['/api/queues/q/messages?colour=red', '/colour'],
      ['/api/runs?limit=1e9', '/limit'],
      ['/api/runs?after=-1', '/after'],
    ] as const) {
      const { status, body } = await get<Refused>(url);
      expect([url, status, body.code, body.errors?.[0]?.path]).toEqual([url, 400, 'REQUEST_INVALID', path]);
    }
  });

  it('with an invalid page token is refused', async () => {
    const { get } = sharedApp();
    const { status, body } = await get<ErrorBody>('/api/queues/q/messages?after=../../etc');
    expect(status).toBe(422);
    expect(body.code).toBe('OPTIONS_INVALID');
  });

  it('that is not JSON, or of another type, is refused', async () => {
    const { postText } = sharedApp();
    for (const text of ['{', '', '\u0000', '{"name":"a"}}', 'undefined']) {
      const { status, body } = await postText('/api/queues', text);
      expect([text, status, body.code]).toEqual([text, 400, 'REQUEST_INVALID']);
    }
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'nonsense']) {
      const { status, body } = await postText('/api/queues', '{"name":"a"}', type);
      expect([type, status, body.code]).toEqual([type, 415, 'CONTENT_TYPE_UNSUPPORTED']);
    }
  });

  it('that is encoded is refused, streamed or not, and stored by nobody', async () => {
    const { post, get } = sharedApp();
    const body = { messages: [{ payload: 1 }] };
    for (const encoding of ['gzip', 'deflate', 'br', 'x', 'gzip, identity']) {
      for (const url of [messagesUrl, `${messagesUrl}/stream`, '/api/runs/import', '/api/transactions']) {
        const answer = await post<ErrorBody>(url, body, { 'content-encoding': encoding });
        expect([url, encoding, answer.status, answer.body.code]).toEqual([
          url,
          encoding,
          415,
          'CONTENT_ENCODING_UNSUPPORTED',
        ]);
        expect(answer.headers['accept-encoding']).toBe('identity');
      }
    }
    expect((await get('/api/queues/q', { 'content-encoding': 'gzip' })).body).toMatchObject({ enqueued: 0 });
    const faulty = await post<ErrorBody>(messagesUrl, { messages: [] }, { 'content-encoding': 'Identity' });
    expect(faulty.body.code).toBe('REQUEST_INVALID');
  });

  it('with thousands of faults has only the first hundred reported', async () => {
    const { post } = sharedApp();
    const fields = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, 0]));
    expect((await post<Refused>('/api/queues', fields)).body.errors).toHaveLength(100);
    expect((await post<Refused>(messagesUrl, { messages: [fields] })).body.details).toMatchObject({
      errors: { length: 100 },
      more: true,
    });
  });

  it('over the limit of its body is refused', async () => {
    const { postText } = sharedApp();
    const { status, body } = await postText('/api/queues', JSON.stringify({ name: 'a'.repeat(600_000) }));
    expect([status, body.code]).toEqual([413, 'REQUEST_TOO_LARGE']);
  });

  it('of deeply nested JSON is refused unless it is a payload, and the server continues', async () => {
    const { get, post, postText } = await startApp();
    await post('/api/queues', { name: 'q' });
    const deep = '['.repeat(120_000) + ']'.repeat(120_000);
    expect((await postText(messagesUrl, `{"messages":[{"payload":${deep}}]}`)).status).toBe(201);
    expect((await get<Browsed>(messagesUrl)).body.messages).toHaveLength(1);
    expect((await postText('/api/queues', deep)).status).toBe(400);
    expect((await postText('/api/scenarios', deep)).status).toBe(422);
    expect((await get('/api/health')).status).toBe(200);
  });
});

describe('a resource that does not exist', () => {
  it.each([
    ['GET', '/api/queues/nope', 'QUEUE_NOT_FOUND'],
    ['GET', '/api/queues/__proto__', 'QUEUE_NOT_FOUND'],
    ['GET', '/api/queues/nope/messages', 'QUEUE_NOT_FOUND'],
    ['DELETE', '/api/queues/nope', 'QUEUE_NOT_FOUND'],
    ['GET', '/api/scenarios/nope', 'SCENARIO_NOT_FOUND'],
    ['GET', '/api/scenarios/constructor', 'SCENARIO_NOT_FOUND'],
    ['DELETE', '/api/scenarios/nope', 'SCENARIO_NOT_FOUND'],
    ['GET', '/api/runs/nope', 'RUN_NOT_FOUND'],
    ['GET', '/api/runs/nope/events', 'RUN_NOT_FOUND'],
    ['GET', '/api/runs/nope/export', 'RUN_NOT_FOUND'],
    ['DELETE', '/api/runs/nope', 'RUN_NOT_FOUND'],
    ['GET', '/api/nope', 'ROUTE_NOT_FOUND'],
    ['GET', '/api', 'ROUTE_NOT_FOUND'],
    ['GET', '/nothing.js', 'ROUTE_NOT_FOUND'],
    ['GET', '/../../etc/passwd.txt', 'ROUTE_NOT_FOUND'],
  ])('%s %s is %s', async (method, url, code) => {
    const { app } = sharedApp();
    const response = await app.inject({ method: method as 'GET', url, headers: { host: 'localhost' } });
    expect([response.statusCode, response.json().code]).toEqual([404, code]);
  });

  it('is reported for a call with a body too', async () => {
    const { post } = sharedApp();
    for (const [url, body] of [
      ['/api/queues/nope/messages', { messages: [{ payload: 1 }] }],
      ['/api/queues/nope/dequeue', {}],
      ['/api/queues/nope/ack', { receipts: ['a'] }],
      ['/api/queues/nope/stop', undefined],
    ] as const) {
      const answer = await post<ErrorBody>(url, body);
      expect([url, answer.status, answer.body.code]).toEqual([url, 404, 'QUEUE_NOT_FOUND']);
    }
    expect((await post<ErrorBody>('/api/runs', { scenario: 'nope' })).body.code).toBe('SCENARIO_NOT_FOUND');
    expect((await post<ErrorBody>('/api/runs/nope/cancel')).body.code).toBe('RUN_NOT_FOUND');
  });
});

describe('a feature that the engine does not support', () => {
  it.each<[string, string, unknown, string]>([
    ['buffered queues', '/api/queues', { name: 'a', kind: 'buffered' }, '/kind'],
    ['named sessions', messagesUrl, { messages: [{ payload: 1 }], session: 's' }, '/session'],
    ...['expiresInMs', 'dedupKey'].map((field): [string, string, unknown, string] => [
      field,
      messagesUrl,
      { messages: [{ payload: 1, [field]: 1 }] },
      `/messages/0/${field}`,
    ]),
    ['named sessions of a dequeue', dequeueUrl, { session: 's' }, '/session'],
    ['selectors', dequeueUrl, { selector: 'a = 1' }, '/selector'],
  ])('%s are refused by name, not ignored', async (_what, url, body, path) => {
    const { post, get } = sharedApp();
    const answer = await post<ErrorBody>(url, body);
    expect(answer).toMatchObject({ status: 422, body: { code: 'FEATURE_UNSUPPORTED', retryable: false } });
    expect(answer.body.details?.fields).toEqual([path]);
    expect(answer.body.message).toContain(path.split('/').at(-1));
    expect((await get<{ ready: number }>('/api/queues/q')).body.ready).toBe(0);
  });

  it.each([['GET', '/api/compare']])('%s %s is refused as not supported', async (method, url) => {
    const { app } = sharedApp();
    const response = await app.inject({ method: method as 'GET', url, headers: { host: 'localhost' } });
    expect([response.statusCode, response.json().code]).toEqual([422, 'FEATURE_UNSUPPORTED']);
  });

  it('is reported as a fault together with others, which decide the status', async () => {
    const { post } = sharedApp();
    const { status, body } = await post<Refused>('/api/queues', { name: 'a', kind: 'buffered', colour: 1 });
    expect(status).toBe(400);
    expect(body.errors.map(({ path }) => path).sort()).toEqual(['/colour', '/kind']);
  });
});

describe('the server after these requests', () => {
  it('refuses an inline scenario of 10⁹ threads and runs nothing', async () => {
    const { get, post } = sharedApp();
    const scenario = smallScenario();
    scenario.sweep.threads = [1e9];
    const { status, body } = await post<Refused>('/api/runs', { scenario });
    expect([status, body.code]).toEqual([422, 'SCENARIO_INVALID']);
    expect(body.errors).toMatchObject([{ path: '/sweep/threads/0' }]);
    expect((await get<{ runs: unknown[] }>('/api/runs')).body.runs).toEqual([]);
  });
});
