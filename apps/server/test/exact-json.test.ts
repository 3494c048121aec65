/** JSON that is returned exactly as it was sent, and JSON that is refused because that is impossible. */
import type { ErrorBody } from '@shardlab/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLoneSurrogate } from '../src/http/json-body.ts';
import { shareApp, startApp, type TestApp } from './start-app.ts';

const payloads = [
  '12345678901234567890',
  '1e400',
  '-0',
  '0.10',
  '{"a":1,"a":2}',
  '{"b":1,"a":2,"1":3}',
  '{ "a" :\t[1, 2 ,3]\n}',
  '"\\u0041\\/\\ud83d\\ude00"',
  '"ü😀"',
  '{"__proto__":{"a":1},"payload":{"payload":1}}',
  'null',
];
const messages = payloads.map((payload) => `{ "payload" : ${payload} , "correlationId":"c"}`).join(',');

/** The texts of the payloads in an answer. All messages of these tests have the correlation id `c`, which ends a payload here. */
const textsIn = (answer: string) =>
  [...answer.matchAll(/"payload":(.*?)(?=,"correlationId":"c")/gs)].map(([, text]) => text);

async function textOf({ app }: TestApp, method: 'GET' | 'POST', url: string, payload?: string) {
  const headers = { host: 'localhost', 'content-type': 'application/json' };
  const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  expect([url, answer.statusCode]).toEqual([url, 200]);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(JSON.parse(answer.body).messages).toHaveLength(payloads.length);
  return answer.body;
}

describe('a JSON payload', () => {
  it.each([
    ['enqueued', '/api/queues/q/messages', `{"messages":[${messages}]}`, 201],
    [
      'enqueued by a transaction',
      '/api/transactions',
      `{"enqueue":[{"queue":"q","messages":[${messages}]}]}`,
      200,
    ],
  ])('%s is browsed, dequeued and fetched as the bytes that came in', async (_how, url, body, status) => {
    const test = await startApp();
    await test.post('/api/queues', { name: 'q' });
    expect((await test.postText(url, body)).status).toBe(status);
    expect(textsIn(await textOf(test, 'GET', '/api/queues/q/messages'))).toEqual(payloads);
    const held = await textOf(test, 'POST', '/api/queues/q/dequeue', '{"max":50}');
    expect(textsIn(held)).toEqual(payloads);
    const receipts = (JSON.parse(held).messages as { receipt: string }[]).map(({ receipt }) => receipt);
    for (const [index, receipt] of receipts.entries()) {
      const fetched = await test.app.inject({
        url: `/api/queues/q/payload?receipt=${receipt}`,
        headers: { host: 'localhost' },
      });
      expect([fetched.headers['content-type'], fetched.body]).toEqual(['application/json', payloads[index]]);
    }
    await test.post('/api/queues/q/nack', { receipts });
    const consumed = await textOf(test, 'POST', '/api/queues/q/dequeue', '{"max":50,"mode":"at-most-once"}');
    expect(textsIn(consumed)).toEqual(payloads);
  });
});

const sharedApp = shareApp();

describe('a lone surrogate', () => {
  it.each<[string, string, string]>([
    ['the name of a subscriber', '/api/queues/t/subscribers', '{"name":"\\ud800"}'],
    ['the name of a queue', '/api/queues', '{"name":"\\udfff"}'],
    ['a payload', '/api/queues/q/messages', '{"messages":[{"payload":"\\uD800\\u0041"}]}'],
    ['a name in a payload', '/api/queues/q/messages', '{"messages":[{"payload":{"\\udc00":1}}]}'],
    ['a correlation id', '/api/queues/q/messages', '{"messages":[{"payload":1,"correlationId":"\\ud800"}]}'],
    ['a property', '/api/queues/q/messages', '{"messages":[{"payload":1,"properties":{"a":"\\ud800"}}]}'],
    ['a subscriber to dequeue for', '/api/queues/t/dequeue', '{"subscriber":"\\ud800"}'],
    ['a receipt', '/api/queues/q/ack', '{"receipts":["\\ud800"]}'],
    ['a statement', '/api/transactions', '{"execute":[{"sql":"SELECT \'\\ud800\'"}]}'],
    ['a parameter', '/api/transactions', '{"execute":[{"sql":"SELECT ?","parameters":["\\ud800"]}]}'],
    ['a scenario', '/api/scenarios', '{"version":1,"title":"\\ud800"}'],
    ['a scenario to validate', '/api/scenarios/validate', '{"title":"\\ud800"}'],
    ['a scenario to run', '/api/runs', '{"scenario":"\\ud800"}'],
  ])('in %s is refused', async (_where, url, text) => {
    const { postText } = sharedApp();
    const { status, body } = await postText(url, text);
    expect([status, body.code]).toEqual([400, 'REQUEST_INVALID']);
    expect(body.message).toContain('surrogate');
  });

  it('in the properties of a streamed message is refused', async () => {
    const { postText } = sharedApp();
    const properties = encodeURIComponent('{"a":"\\ud800"}');
    const url = `/api/queues/q/messages/stream?properties=${properties}`;
    const { status, body } = await postText(url, 'x', 'application/octet-stream');
    expect([status, body.code]).toEqual([422, 'MESSAGE_INVALID']);
  });

  it('in the name of a subscriber creates no subscriber', async () => {
    const { get, post, postText } = await startApp();
    await post('/api/queues', { name: 't', type: 'topic' });
    expect((await postText('/api/queues/t/subscribers', '{"name":"a\\ud800"}')).status).toBe(400);
    expect((await get('/api/queues/t/subscribers')).body).toEqual({ subscribers: [] });
  });

  it('is found where the string has one, and nowhere else', () => {
    const unit = fc.oneof(
      fc.constantFrom('\\ud83d\\ude00', '\\ud800', '\\uDC00', '\\\\ud800', '\\u0041', '\\\\', '\\"', 'a'),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 8 }), (units) => {
        const text = `"${units.join('')}"`;
        expect(findLoneSurrogate(text) === undefined).toBe((JSON.parse(text) as string).isWellFormed());
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a body', () => {
  it('of another charset, or in UTF-16, is refused with 415', async () => {
    const { app, postText } = sharedApp();
    const json = '{"name":"a"}';
    for (const charset of ['utf-16', 'UTF-16LE', 'iso-8859-1', '"us-ascii"']) {
      const { status, body } = await postText('/api/queues', json, `application/json; charset=${charset}`);
      expect([charset, status, body.code]).toEqual([charset, 415, 'CONTENT_TYPE_UNSUPPORTED']);
    }
    for (const payload of [
      Buffer.from(json, 'utf16le'),
      Buffer.from(`\ufeff${json}`, 'utf16le'),
      Buffer.from(json, 'utf16le').swap16(),
    ]) {
      for (const url of ['/api/queues', '/api/scenarios']) {
        const headers = { host: 'localhost', 'content-type': 'application/json' };
        const answer = await app.inject({ method: 'POST', url, headers, payload });
        expect([answer.statusCode, answer.json().code]).toEqual([415, 'CONTENT_TYPE_UNSUPPORTED']);
      }
    }
    for (const charset of ['utf-8', 'UTF-8', '"utf8"']) {
      const type = `application/json;charset=${charset}`;
      expect((await postText('/api/queues/q/messages', '{"messages":[{"payload":1}]}', type)).status).toBe(
        201,
      );
    }
  });

  it('may begin with a byte order mark, and gives no field twice but in a payload', async () => {
    const { postText } = sharedApp();
    const url = '/api/queues/q/messages';
    expect((await postText(url, '\ufeff{"messages":[{"payload":{"a":1,"a":2}}]}')).status).toBe(201);
    expect((await postText(url, '\ufeff\ufeff{"messages":[{"payload":1}]}')).status).toBe(400);
    const { status, body } = await postText(
      url,
      '{"messages":[{"payload":1,\n "groupKey":"a", "groupKey":"b"}]}',
    );
    expect([status, body.code]).toEqual([400, 'REQUEST_INVALID']);
    expect(body.message).toBe(
      'The body is not valid: /messages/0/groupKey: The field is given twice: at line 2, column 2, and again at line 2, column 18',
    );
  });

  it('of bytes that are not UTF-8 is refused, not changed', async () => {
    const { app } = sharedApp();
    const payload = Buffer.concat([
      Buffer.from('{"messages":[{"payload":"'),
      Buffer.of(0xff),
      Buffer.from('"}]}'),
    ]);
    const headers = { host: 'localhost', 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url: '/api/queues/q/messages', headers, payload });
    expect([answer.statusCode, answer.json<ErrorBody>().code]).toEqual([400, 'REQUEST_INVALID']);
  });

  it('that is null is refused if an optional object is expected', async () => {
    const { postText } = sharedApp();
    for (const url of [
      '/api/queues/q/dequeue',
      '/api/queues/q/stop',
      '/api/queues/q/start',
      '/api/queues/q/conversion',
      '/api/cluster/load',
      '/api/cluster/instances/1/kill',
      '/api/queues',
      '/api/transactions',
      '/api/runs',
    ]) {
      const { status, body } = await postText(url, 'null');
      expect([url, status, body.code]).toEqual([url, 400, 'REQUEST_INVALID']);
    }
  });
});
