/** The conversion of a queue over the API: how it is started, watched, resumed after a restart, and cancelled. */
import type {
  Cluster,
  Conversion,
  ConversionAnswer,
  Dequeued,
  ErrorBody,
  QueueInfo,
} from '@shardlab/contract';
import { describe, expect, it, vi } from 'vitest';
import { makeDataDir, startApp, type TestApp, waiting } from './start-app.ts';

const url = '/api/queues/q/conversion';

async function withQueue(test: TestApp, ...payloads: string[]): Promise<void> {
  await test.post('/api/queues', { name: 'q', kind: 'unsharded' });
  if (payloads.length > 0) await put(test, ...payloads);
}

const put = (test: TestApp, ...payloads: string[]) =>
  test.post<ErrorBody>('/api/queues/q/messages', { messages: payloads.map((payload) => ({ payload })) });

async function take(test: TestApp): Promise<unknown[]> {
  const { body } = await test.post<Dequeued>('/api/queues/q/dequeue', { max: 10, mode: 'at-most-once' });
  return body.messages.map(({ payload }) => payload);
}

const until = (test: TestApp, expected: object) =>
  vi.waitFor(async () => expect(await read(test)).toMatchObject(expected), waiting);

const read = async (test: TestApp) => (await test.get<ConversionAnswer>(url)).body.conversion;

describe('the conversion of a queue', () => {
  it('goes through its steps, and clients continue under the same name', async () => {
    const test = await startApp();
    await withQueue(test, 'a');
    const begun = await test.post<Conversion>(url, { shards: 2, attemptsMax: 5 });
    expect(begun).toMatchObject({
      status: 202,
      body: { queue: 'q', running: true, canCancel: true, failure: null, settings: { shards: 2 } },
    });
    await until(test, { stage: 'drain' });
    expect(await put(test, 'late')).toMatchObject({
      status: 409,
      body: { code: 'ENQUEUE_STOPPED', retryable: true },
    });
    expect(await test.post('/api/queues/q/start')).toMatchObject({
      status: 409,
      body: { code: 'QUEUE_CONVERTING', retryable: true },
    });
    expect(await take(test)).toEqual(['a']);
    await until(test, { stage: 'done', running: false, canCancel: false });
    expect((await test.get<QueueInfo>('/api/queues/q')).body).toMatchObject({
      kind: 'sharded',
      shards: 2,
      attemptsMax: 5,
      enqueueEnabled: true,
    });
    expect((await put(test, 'late')).status).toBe(201);
    expect(await take(test)).toEqual(['late']);
    // A repeated request finds the conversion finished.
    expect((await test.post<Conversion>(url)).body).toMatchObject({ stage: 'done' });
  });

  it('reports why it stopped, continues when asked, and restores the queue when cancelled', async () => {
    const test = await startApp();
    await withQueue(test, 'a');
    await test.post(url, { drainMsMax: 0 });
    const failure = { code: 'QUEUE_NOT_DRAINED', retryable: true, details: { ready: 1, held: 0 } };
    await until(test, { stage: 'drain', running: false, failure });
    expect(await test.post(url)).toMatchObject({ status: 202, body: { running: true, failure: null } });
    expect(await test.remove(url)).toMatchObject({
      status: 200,
      body: { kind: 'unsharded', enqueueEnabled: true, ready: 1 },
    });
    expect(await read(test)).toBeNull();
    expect((await put(test, 'b')).status).toBe(201);
    expect(await take(test)).toEqual(['a', 'b']);
  });

  it('keeps its step when the server ends, and is resumed by the next one', async () => {
    const dataDir = makeDataDir();
    const first = await startApp({ dataDir });
    await withQueue(first, 'a');
    await first.post(url);
    await until(first, { stage: 'drain' });
    await first.close();
    const second = await startApp({ dataDir });
    expect(await read(second)).toMatchObject({ stage: 'drain', running: false });
    expect(await take(second)).toEqual(['a']);
    await second.post(url);
    await until(second, { stage: 'done' });
  });

  it('is refused with the reason', async () => {
    const test = await startApp();
    await withQueue(test);
    await test.post('/api/queues', { name: 'sharded' });
    const refused = async (name: string, body?: unknown) => {
      const answer = await test.post<ErrorBody>(`/api/queues/${name}/conversion`, body);
      return [answer.status, answer.body.code];
    };
    expect(await refused('sharded')).toEqual([409, 'QUEUE_NOT_CONVERTIBLE']);
    expect(await refused('none')).toEqual([404, 'QUEUE_NOT_FOUND']);
    expect(await refused('q', { shards: 0 })).toEqual([400, 'REQUEST_INVALID']);
    expect(await refused('q', { durability: 'durable' })).toEqual([400, 'REQUEST_INVALID']);
    expect((await test.remove<ErrorBody>(url)).body.code).toBe('CONVERSION_NOT_FOUND');
    expect((await test.get<ErrorBody>('/api/queues/none/conversion')).body.code).toBe('QUEUE_NOT_FOUND');
  });

  it('reaches every instance of a cluster', async () => {
    const test = await startApp();
    await withQueue(test, 'a');
    await test.put<Cluster>('/api/cluster/topology', { instances: 2 });
    await test.post(url);
    expect(await take(test)).toEqual(['a']);
    await until(test, { stage: 'done', running: false });
    for (const payload of ['b', 'c']) expect((await put(test, payload)).status).toBe(201);
    // A dequeue skips an instance whose lease has just lapsed, so it is repeated until that instance delivers its message.
    const taken: unknown[] = [];
    await vi.waitFor(async () => {
      taken.push(...(await take(test)));
      expect(taken.toSorted()).toEqual(['b', 'c']);
    }, waiting);
  });
});
