import { connect } from 'node:net';
import type { Browsed, Dequeued, Enqueued, ErrorBody, QueueInfo } from '@shardlab/contract';
import { describe, expect, it, vi } from 'vitest';
import { listeningPort } from '../src/http/listening-port.ts';
import { shareApp, startApp, type TestApp, untilDequeuesUnderWay, waiting } from './start-app.ts';

const sharedApp = shareApp();

/** A new queue `q` in the app that the tests share. */
async function withQueue(spec: Record<string, unknown> = {}): Promise<TestApp> {
  const test = sharedApp();
  await test.remove('/api/queues/q');
  return makeQueue(test, spec);
}

/** A queue `q` in an app of its own, for a test that closes the app or lets it listen. */
const withOwnApp = async (): Promise<TestApp> => makeQueue(await startApp());

async function makeQueue(test: TestApp, spec: Record<string, unknown> = {}): Promise<TestApp> {
  await test.post('/api/queues', { name: 'q', durability: 'relaxed', ...spec });
  return test;
}

const enqueue = (test: TestApp, ...messages: unknown[]) =>
  test.post<Enqueued>('/api/queues/q/messages', { messages });
const dequeue = (test: TestApp, options: Record<string, unknown> = {}) =>
  test.post<Dequeued>('/api/queues/q/dequeue', options);
const finish = (test: TestApp, how: string, receipts: unknown, more: Record<string, unknown> = {}) =>
  test.post<ErrorBody>(`/api/queues/q/${how}`, { receipts, ...more });
const counts = async ({ get }: TestApp) => {
  const { ready, held, enqueued, consumed } = (await get<QueueInfo>('/api/queues/q')).body;
  return { ready, held, enqueued, consumed };
};

describe.each(['sharded', 'unsharded'])('messages of a %s queue', (kind) => {
  it('are delivered exactly as they were sent, as any JSON value or bytes', async () => {
    const test = await withQueue({ kind });
    const payloads = [
      { a: [1, 'ü', null, { b: 1e-7 }] },
      null,
      0,
      '',
      false,
      [],
      'line\u2028separator "quoted"',
      JSON.parse('{"__proto__": {"x": 1}, "constructor": {"prototype": 1}}'),
    ];
    const { status, body } = await enqueue(test, ...payloads.map((payload) => ({ payload })));
    expect(status).toBe(201);
    expect(new Set(body.ids).size).toBe(payloads.length);
    const bytes = ['', 'AA==', '/+8=', Buffer.from('{"a":1}').toString('base64')];
    await enqueue(test, ...bytes.map((payloadBase64) => ({ payloadBase64 })));

    const { messages } = (await dequeue(test, { max: 100, mode: 'at-most-once' })).body;
    const found = messages.map((message) =>
      'payload' in message ? JSON.stringify(message.payload) : { bytes: message.payloadBase64 },
    );
    const sent = [
      ...payloads.map((payload) => JSON.stringify(payload)),
      ...bytes.map((text) => ({ bytes: text })),
    ];
    expect(found.map((each) => JSON.stringify(each)).sort()).toEqual(
      sent.map((each) => JSON.stringify(each)).sort(),
    );
  });

  it('keep their correlation id, group key and properties, without properties of the server’s own', async () => {
    const test = await withQueue({ kind });
    const marks = { correlationId: 'c-1', groupKey: 'g', properties: { colour: 'red', __proto: 'x' } };
    await enqueue(test, { payload: 1, ...marks }, { payload: 2 });
    const { messages } = (await dequeue(test, { max: 2 })).body;
    const [first, second] = messages.sort((a, b) => Number(a.payload) - Number(b.payload));
    expect(first).toMatchObject(marks);
    expect(Object.keys(second!).sort()).toEqual([
      'deliveryCount',
      'enqueuedAtMs',
      'id',
      'payload',
      'receipt',
    ]);
  });

  it('are browsed by correlation id, with an index or without', async () => {
    const indexed = kind === 'sharded' ? { correlationIndex: true } : {};
    const test = await withQueue({ kind, ...indexed });
    expect((await test.get<QueueInfo>('/api/queues/q')).body).toMatchObject({
      correlationIndex: false,
      ...indexed,
    });
    await enqueue(test, ...['a', 'b', 'a'].map((correlationId, payload) => ({ payload, correlationId })));
    const { body } = await test.get<Browsed>('/api/queues/q/messages?correlationId=a');
    expect(body).toMatchObject({ messages: [{ payload: 0 }, { payload: 2 }], next: null });
  });

  it('are browsed by state', async () => {
    const test = await withQueue({ kind });
    await enqueue(test, { payload: 'a' }, { payload: 'b' }, { payload: 'c' });
    await dequeue(test);
    const inState = async (state: string) =>
      (await test.get<Browsed>(`/api/queues/q/messages?state=${state}`)).body;
    expect(await inState('held')).toMatchObject({ messages: [{ payload: 'a', state: 'held' }], next: null });
    expect(await inState('ready')).toMatchObject({
      messages: [{ payload: 'b' }, { payload: 'c' }],
      next: null,
    });
    expect(await inState('delayed')).toEqual({ messages: [], next: null });
  });

  it('are kept and browsed after they were consumed, if their queue has a retention', async () => {
    const retention = kind === 'sharded' ? { retentionMs: 3_600_000 } : {};
    const test = await withQueue({ kind, ...retention });
    await enqueue(test, { payload: 'a' }, { payload: 'b' });
    const [message] = (await dequeue(test)).body.messages;
    await finish(test, 'ack', [message!.receipt]);
    const answer = await test.get<Browsed>('/api/queues/q/messages?state=processed');
    if (kind === 'sharded')
      expect(answer.body).toMatchObject({ messages: [{ payload: 'a', state: 'processed' }], next: null });
    else expect(answer).toMatchObject({ status: 422, body: { code: 'OPTIONS_INVALID' } });
  });

  it('are held until acknowledged, and an acknowledgement is final', async () => {
    const test = await withQueue({ kind });
    await enqueue(test, { payload: 'a' });
    const [message] = (await dequeue(test)).body.messages;
    expect(await counts(test)).toMatchObject({ ready: 0, held: 1 });
    expect((await dequeue(test)).body.messages).toEqual([]);
    expect((await finish(test, 'ack', [message!.receipt])).status).toBe(204);
    expect(await counts(test)).toEqual({ ready: 0, held: 0, enqueued: 1, consumed: 1 });
    for (const how of ['ack', 'nack']) {
      expect(await finish(test, how, [message!.receipt])).toMatchObject({
        status: 409,
        body: { code: 'RECEIPT_STALE', details: { receipts: [message!.receipt] } },
      });
    }
  });

  it('become ready again at once after a nack, and count their deliveries', async () => {
    const test = await withQueue({ kind });
    await enqueue(test, { payload: 'a' });
    const [first] = (await dequeue(test)).body.messages;
    expect((await finish(test, 'nack', [first!.receipt])).status).toBe(204);
    const [second] = (await dequeue(test)).body.messages;
    expect(second).toMatchObject({ id: first!.id, payload: 'a', deliveryCount: 2 });
    expect(second!.receipt).not.toBe(first!.receipt);
  });

  it('become ready again when their hold expires, and its receipt is stale then', async () => {
    const test = await withQueue({ kind });
    await enqueue(test, { payload: 'a' });
    const [first] = (await dequeue(test, { holdMs: 100 })).body.messages;
    const [second] = (await dequeue(test, { waitMs: 20_000 })).body.messages;
    expect(second!.id).toBe(first!.id);
    expect((await finish(test, 'ack', [first!.receipt])).body.code).toBe('RECEIPT_STALE');
    expect((await finish(test, 'extend', [second!.receipt], { holdMs: 60_000 })).status).toBe(204);
    expect((await finish(test, 'ack', [second!.receipt])).status).toBe(204);
  });

  it('are acknowledged all or not at all', async () => {
    const test = await withQueue({ kind });
    await enqueue(test, { payload: 1 }, { payload: 2 });
    const { messages } = (await dequeue(test, { max: 2 })).body;
    const receipts = messages.map(({ receipt }) => receipt!);
    expect((await finish(test, 'ack', [...receipts, 'stale'])).status).toBe(409);
    expect(await counts(test)).toMatchObject({ held: 2, consumed: 0 });
    expect((await finish(test, 'ack', receipts)).status).toBe(204);
  });

  it('are consumed before the answer with mode at-most-once, and have no receipt', async () => {
    const test = await withQueue({ kind });
    await enqueue(test, { payload: 1 }, { payload: 2 });
    const { messages } = (await dequeue(test, { max: 10, mode: 'at-most-once' })).body;
    expect(messages).toHaveLength(2);
    expect(messages.every((message) => message.receipt === undefined)).toBe(true);
    expect(await counts(test)).toEqual({ ready: 0, held: 0, enqueued: 2, consumed: 2 });
  });

  it('are browsed in pages, oldest first, without a change', async () => {
    const test = await withQueue({ kind });
    await enqueue(test, ...Array.from({ length: 25 }, (_, payload) => ({ payload })));
    await dequeue(test, { max: 2 });
    const seen: unknown[] = [];
    let next: string | null = null;
    do {
      const after: string = next === null ? '' : `&after=${encodeURIComponent(next)}`;
      const { body } = await test.get<Browsed>(`/api/queues/q/messages?limit=10${after}`);
      seen.push(...body.messages.map(({ payload, state }) => `${String(payload)} ${state}`));
      next = body.next;
    } while (next !== null);
    expect(seen).toEqual(
      Array.from({ length: 25 }, (_, index) => `${index} ${index < 2 ? 'held' : 'ready'}`),
    );
    expect(await counts(test)).toMatchObject({ ready: 23, held: 2 });
  });

  it('wake a dequeue that waits', async () => {
    const test = await withQueue({ kind });
    const first = dequeue(test, { waitMs: 30_000 });
    await untilDequeuesUnderWay(test, 1);
    await enqueue(test, { payload: 'late' });
    expect((await first).body.messages).toMatchObject([{ payload: 'late' }]);
  });

  it('of a call are all refused if one of them is invalid', async () => {
    const test = await withQueue({ kind });
    const tooLarge = 'k'.repeat(513);
    expect(await enqueue(test, { payload: 1 }, { payload: 2, correlationId: tooLarge })).toMatchObject({
      status: 400,
    });
    expect(await counts(test)).toMatchObject({ ready: 0, enqueued: 0 });
    expect((await enqueue(test, { payload: 2 })).status).toBe(201);
    expect(await counts(test)).toMatchObject({ ready: 1, enqueued: 1 });
  });
});

describe('a dequeue', () => {
  it('answers with nothing after waitMs', async () => {
    const test = await withQueue();
    expect(await dequeue(test, { waitMs: 20 })).toMatchObject({ status: 200, body: { messages: [] } });
  });

  it('of large messages returns only as many as fit into an answer', async () => {
    const test = await withQueue();
    const large = { payloadBase64: Buffer.alloc(700_000, 1).toString('base64') };
    for (let index = 0; index < 30; index++) await enqueue(test, large);
    const { messages } = (await dequeue(test, { max: 1000 })).body;
    expect(messages).toHaveLength(23); // one more is not dequeued, since it might be as large as 1 MiB
    expect(await counts(test)).toMatchObject({ ready: 7, held: 23 });
    const page = (await test.get<Browsed>('/api/queues/q/messages?limit=500')).body;
    expect(page.messages).toHaveLength(23);
    expect(page.next).not.toBeNull();
  });

  it('that waits is answered without messages when the server shuts down', async () => {
    const test = await withOwnApp();
    const waitingCall = dequeue(test, { waitMs: 30_000 });
    await untilDequeuesUnderWay(test, 1);
    await test.close();
    expect(await waitingCall).toMatchObject({ status: 200, body: { messages: [] } });
  });

  it('whose client disconnects stops waiting, and takes no message that is enqueued later', async () => {
    const test = await withOwnApp();
    const url = await test.app.listen({ host: '127.0.0.1', port: 0 });
    const headers = { 'content-type': 'application/json' };
    const host = new URL(url).host;
    for (const mode of ['at-most-once', 'manual']) {
      const gone = new AbortController();
      const body = JSON.stringify({ waitMs: 30_000, mode });
      const call = fetch(`${url}/api/queues/q/dequeue`, {
        method: 'POST',
        headers,
        body,
        signal: gone.signal,
      });
      const atHost = { ...test, get: (path: string) => test.get(path, { host }) } as TestApp;
      await untilDequeuesUnderWay(atHost, 1);
      gone.abort();
      await expect(call).rejects.toThrow();
      await untilDequeuesUnderWay(atHost, 0);
      await test.post('/api/queues/q/messages', { messages: [{ payload: mode }] }, { host });
      const info = await test.get<QueueInfo>('/api/queues/q', { host });
      expect(info.body).toMatchObject({ ready: 1, held: 0 });
      await test.post('/api/queues/q/dequeue', { mode: 'at-most-once' }, { host });
    }
  });

  it('is refused past the share of its queue and served again later, while other queues are served throughout', async () => {
    const test = await withOwnApp();
    const calls = Array.from({ length: 1000 }, () => dequeue(test, { waitMs: 30_000 }));
    await untilDequeuesUnderWay(test, 1000);
    expect(await dequeue(test)).toMatchObject({
      status: 429,
      body: { code: 'DEQUEUES_FULL', retryable: true, details: { max: 2000, share: 'queue' } },
    });
    await test.post('/api/queues', { name: 'other' });
    await test.post('/api/queues/other/messages', { messages: [{ payload: 'served' }] });
    expect(await test.post('/api/queues/other/dequeue', {})).toMatchObject({
      status: 200,
      body: { messages: [{ payload: 'served' }] },
    });
    await enqueue(test, ...calls.map((_, payload) => ({ payload })));
    const payloads = (await Promise.all(calls)).flatMap(({ body }) =>
      body.messages.map(({ payload }) => payload),
    );
    expect(new Set(payloads).size).toBe(1000);
    await vi.waitFor(async () => expect((await dequeue(test)).status).toBe(200), waiting);
  });

  it('whose answer cannot be sent makes its messages ready again at once', async () => {
    const test = await withOwnApp();
    const large = { payloadBase64: Buffer.alloc(700_000, 1).toString('base64') };
    for (let index = 0; index < 16; index++) await enqueue(test, large);
    await test.app.listen({ host: '127.0.0.1', port: 0 });
    const port = listeningPort(test.app)!;
    const host = `localhost:${port}`;
    const untilHeld = (held: number) =>
      vi.waitFor(async () => {
        const { body } = await test.get<QueueInfo>('/api/queues/q', { host });
        expect(body).toMatchObject({ ready: 16 - held, held, consumed: 0 });
      }, waiting);
    // The client never reads, so that most of the answer cannot leave the server.
    const socket = connect(port, '127.0.0.1').pause();
    const body = JSON.stringify({ max: 100, holdMs: 3_600_000 });
    socket.write(
      `POST /api/queues/q/dequeue HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await untilHeld(16);
    socket.destroy();
    await untilHeld(0);
  });
});
