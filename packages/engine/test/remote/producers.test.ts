/** Producers: one-way sends within a window, and sends that wait for space in a full queue. */
import { describe, expect, it, vi } from 'vitest';
import type { Instance, ProducerOptions, QueueSpec, RemoteInstance } from '../../src/index.ts';
import { openTestClient, openTestInstance, text } from '../folder.ts';
import { waiting } from '../waiting.ts';
import { code, connectTo, serve } from './serving.ts';

async function openQueue(
  spec: Partial<QueueSpec> = {},
): Promise<{ instance: Instance; client: RemoteInstance }> {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q', durability: 'memory', visibility: 'immediate', ...spec });
  return { instance, client: await openTestClient(instance) };
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));
const take = async (instance: Instance, max = 10_000) =>
  text(await instance.openSession().dequeueNow('q', { max, waitMs: 10_000 }));

describe.each<ProducerOptions>([
  {},
  { oneWay: { windowMessages: 7 } },
  { oneWay: { windowMessages: 1_000 } },
])('a producer with %j', (options) => {
  it('enqueues its messages in order', async () => {
    const { instance, client } = await openQueue();
    const producer = client.openSession().openProducer('q', options);
    for (const payload of numbers(200)) await producer.send({ payload });
    await producer.flush();
    expect(await take(instance)).toEqual(numbers(200));
    await producer.close();
    await expect(producer.send({ payload: 'x' })).rejects.toThrow(code('CONSUMER_CLOSED'));
  });

  it('that does not wait for its sends keeps their order', async () => {
    const { instance, client } = await openQueue();
    const producer = client.openSession().openProducer('q', options);
    await Promise.all(numbers(200).map((payload) => producer.send({ payload })));
    await producer.close();
    expect(await take(instance)).toEqual(numbers(200));
  });

  it('waits for space in a full queue, and loses nothing', async () => {
    const { instance, client } = await openQueue({ messagesMax: 10 });
    const producer = client.openSession().openProducer('q', { ...options, blockMs: 10_000 });
    const sent = (async () => {
      for (const payload of numbers(60)) await producer.send({ payload });
      await producer.close();
    })();
    const got: string[] = [];
    while (got.length < 60) got.push(...(await take(instance, 10)));
    await sent;
    expect(got).toEqual(numbers(60));
    expect(instance.queue('q')).toMatchObject({ refused: 0, ready: 0 });
  });
});

describe('a full queue', () => {
  it('refuses a send at once, or after its maximum wait', async () => {
    const { instance, client } = await openQueue({ messagesMax: 2 });
    const session = client.openSession();
    const producer = session.openProducer('q');
    const patient = session.openProducer('q', { blockMs: 30 });
    for (const payload of numbers(2)) await producer.send({ payload });
    await expect(producer.send({ payload: 'x' })).rejects.toThrow(code('ENQUEUE_RATE_TOO_HIGH'));
    await expect(patient.send({ payload: 'y' })).rejects.toThrow(code('ENQUEUE_RATE_TOO_HIGH'));
    expect(instance.queue('q').refused).toBe(2);
    expect(await take(instance)).toEqual(numbers(2));
    await producer.send({ payload: 'z' });
    expect(await take(instance)).toEqual(['z']);
  });

  it('lets sends wait for bytes of its cache too', async () => {
    const { instance, client } = await openQueue({ cacheBytesMax: 1_000_000, messagesMax: 1_000 });
    const session = client.openSession();
    const payload = Buffer.alloc(400_000);
    const producer = session.openProducer('q');
    for (let i = 0; i < 3; i += 1) await producer.send({ payload });
    await expect(producer.send({ payload })).rejects.toThrow(code('BACKLOG_FULL'));
    const patient = session.openProducer('q', { blockMs: 10_000 });
    const sent = patient.send({ payload });
    await vi.waitFor(() => expect(instance.queue('q').ready).toBe(3), waiting);
    await instance.openSession().dequeueNow('q', { max: 2 });
    await sent;
    expect(instance.queue('q').ready).toBe(2);
  });

  it('serves waiting sends in their order, and drops those of a closed session', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', durability: 'memory', visibility: 'immediate', messagesMax: 1 });
    const served = await serve(instance);
    const [lost, kept] = [await connectTo(served.path), await connectTo(served.path)];
    const send = (client: RemoteInstance, payload: string) =>
      client.openSession().openProducer('q', { blockMs: 10_000 }).send({ payload });
    await send(kept, 'first');
    const inVain = send(lost, 'lost').catch((error: unknown) => error);
    await lost.probe(); // By now the send has arrived at the instance.
    const second = send(kept, 'second');
    await kept.probe();
    const third = send(kept, 'third');
    await lost.close();
    expect(await inVain).toEqual(code('SESSION_CLOSED'));
    await expect.poll(() => served.connections).toBe(1);
    const got: string[] = [];
    while (got.length < 3) got.push(...(await take(instance, 1)));
    await Promise.all([second, third]);
    expect(got).toEqual(['first', 'second', 'third']);
  });
});

describe('a send that waits for room', () => {
  async function withWaitingSend() {
    const { instance, client } = await openQueue({ messagesMax: 1 });
    const producer = client.openSession().openProducer('q', { blockMs: 10_000 });
    await producer.send({ payload: 'first' });
    const waits = producer.send({ payload: 'second' });
    waits.catch(() => undefined); // the test awaits it later
    await client.probe(); // By now the send has arrived at the instance.
    return { instance, waits };
  }

  it('is rejected when its queue is dropped, and does not bring the queue back', async () => {
    const { instance, waits } = await withWaitingSend();
    await instance.dropQueue('q');
    await expect(waits).rejects.toThrow(code('QUEUE_DROPPED'));
    expect(instance.stats().shards).toEqual([]);
  });

  it('is refused once its queue is stopped, even if there is room', async () => {
    const { instance, waits } = await withWaitingSend();
    await instance.stopQueue('q', { enqueue: true });
    expect(await take(instance)).toEqual(['first']);
    await expect(waits).rejects.toThrow(code('ENQUEUE_STOPPED'));
    expect(instance.queue('q').ready).toBe(0);
  });
});

describe('a one-way send that is refused', () => {
  it('is reported by the next answer, and later sends before that are not enqueued', async () => {
    const { instance, client } = await openQueue({ messagesMax: 3 });
    const producer = client.openSession().openProducer('q', { oneWay: { windowMessages: 100 } });
    for (const payload of numbers(2)) await producer.send({ payload });
    await producer.flush();
    for (const payload of ['a', 'b', 'c']) {
      await producer.send({ payload });
      await new Promise((resolve) => setImmediate(resolve)); // Each message is sent in a frame of its own.
    }
    await expect(producer.flush()).rejects.toThrow(code('ENQUEUE_RATE_TOO_HIGH'));
    expect(await take(instance)).toEqual(['0', '1', 'a']);
    await producer.send({ payload: 'd' });
    await producer.close();
    expect(await take(instance)).toEqual(['d']);
  });

  it('reports a missing or unsuitable queue, and an invalid window', async () => {
    const { instance, client } = await openQueue();
    await instance.createQueue({ name: 'durable' });
    const session = client.openSession();
    const oneWay = { windowMessages: 5 };
    await expect(session.openProducer('durable').send({ payload: 'x' })).rejects.toThrow(
      code('VISIBILITY_MISMATCH'),
    );
    const producer = session.openProducer('none', { oneWay });
    await expect(producer.send({ payload: 'x' })).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    expect(() => session.openProducer('q', { oneWay: { windowMessages: 0 } })).toThrow(
      code('OPTIONS_INVALID'),
    );
  });
});
