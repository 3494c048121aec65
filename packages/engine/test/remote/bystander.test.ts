/**
 * Whatever one session does that its client allows, or that is refused: the connection stays open, and with it the open transaction
 * of another session.
 */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { connect, type Instance, type RemoteInstance } from '../../src/index.ts';
import { openTestInstance } from '../folder.ts';
import { lowerLimits } from '../support/lower-limits.ts';
import { code, connectTo, serve } from './serving.ts';
import { makeUnreliableLink } from './unreliable-link.ts';

const oneWay = { oneWay: { windowMessages: 100 } };

interface Served {
  instance: Instance;
  client: RemoteInstance;
}

async function setUp(): Promise<Served & { path: string }> {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q', durability: 'memory', visibility: 'immediate' });
  await instance.createQueue({ name: 'd' });
  const { path } = await serve(instance);
  return { instance, client: await connectTo(path), path };
}

const make = <T>(count: number, one: () => T) => Array.from({ length: count }, one);

const rows: [string, (served: Served) => Promise<unknown>][] = [
  [
    'has as many producers as it may, each with a send that has no answer, and one more',
    async ({ instance, client }) => {
      lowerLimits({ producersPerSessionMax: 100 });
      const session = client.openSession();
      const producers = make(limits.producersPerSessionMax, () => session.openProducer('q', oneWay));
      expect(() => session.openProducer('q')).toThrow(code('PRODUCERS_FULL'));
      for (const payload of ['a', 'b']) await Promise.all(producers.map((one) => one.send({ payload })));
      await Promise.all(producers.map((one) => one.close()));
      expect(instance.queue('q').ready).toBe(2 * limits.producersPerSessionMax);
      await session.openProducer('q').send({ payload: 'c' });
    },
  ],
  [
    'has as many consumers as it may, and one more',
    async ({ client }) => {
      const session = client.openSession();
      const consumers = await Promise.all(
        make(limits.consumersPerSessionMax, () => session.openConsumer('d')),
      );
      await expect(session.openConsumer('d')).rejects.toThrow(code('CONSUMERS_FULL'));
      await consumers[0]!.close();
      await session.openConsumer('d');
    },
  ],
  [
    'flushes a producer after its close',
    async ({ client }) => {
      const session = client.openSession();
      const producer = session.openProducer('q', oneWay);
      for (const payload of ['a', 'b']) await producer.send({ payload });
      await session.close();
      await expect(producer.flush()).rejects.toThrow(code('SESSION_CLOSED'));
    },
  ],
  [
    'closes a consumer that begins to receive',
    async ({ client }) => {
      const consumer = await client.openSession().openConsumer('d', { prefetch: false });
      const received = consumer.receive({ waitMs: 0 });
      await consumer.close();
      await expect(received).rejects.toThrow(code('CONSUMER_CLOSED'));
    },
  ],
  [
    'is closed while it opens a consumer',
    async ({ client }) => {
      const session = client.openSession();
      session.enqueue('d', { payload: 'x' });
      await session.commit();
      const opening = session.openConsumer('d').catch((error: unknown) => error);
      await session.close();
      await opening;
    },
  ],
  [
    'closes a consumer whose queue is being dropped',
    async ({ instance, client }) => {
      await instance.createQueue({ name: 'gone' });
      const session = client.openSession();
      const consumer = await session.openConsumer('gone', { prefetch: true });
      await consumer.receiveNoWait(); // now it has credit, and the instance waits for messages to push
      await Promise.all([instance.dropQueue('gone'), consumer.close()]);
    },
  ],
  [
    'calls with more than a frame can hold',
    async ({ client }) => {
      lowerLimits({ frameBytesMax: 2 * 1024 * 1024 });
      const call = client.callService('s', 'c', 'x'.repeat(limits.frameBytesMax));
      await expect(call).rejects.toThrow(code('OPTIONS_INVALID'));
    },
  ],
];

describe('the connection of other sessions stays open if a session', () => {
  it.each(rows)('%s', async (_, act) => {
    const served = await setUp();
    const bystander = served.client.openSession();
    bystander.enqueue('d', { payload: 'x' });
    await bystander.commit();
    expect(await bystander.dequeue('d')).toHaveLength(1);
    await act(served);
    await bystander.commit();
    expect(served.instance.queue('d').held).toBe(0);
  });
});

it('a session that the instance refuses is told so at its first send, one-way or not', async () => {
  const { instance, client, path } = await setUp();
  const others = await connectTo(path);
  const bystander = client.openSession();
  bystander.enqueue('d', { payload: 'x' });
  await bystander.commit();
  expect(await bystander.dequeue('d')).toHaveLength(1);
  const held = make(2, () => others.openSession());
  for (const session of held) await session.rollback();
  await Promise.all(held.map((session) => session.dequeue('d')));
  const refused = client.openSession();
  lowerLimits({ sessionsMax: 3 });
  const producer = refused.openProducer('q', oneWay);
  await expect(producer.send({ payload: 'a' })).rejects.toThrow(code('SESSIONS_FULL'));
  await held[0]!.close();
  await producer.send({ payload: 'b' });
  await producer.close();
  expect(instance.queue('q').ready).toBe(1);
  await bystander.commit();
});

it('after a lost connection two producers of a session open it once on the next', async () => {
  const { instance, path } = await setUp();
  const link = await makeUnreliableLink(path);
  const client = await connectTo(link.path);
  const session = client.openSession();
  const producers = make(3, () => session.openProducer('q', oneWay));
  await Promise.all(producers.map((producer) => producer.send({ payload: 'a' })));
  const waits = client.openSession().dequeueNow('d', { waitMs: 60_000 });
  link.cut();
  await expect(waits).rejects.toThrow(code('INSTANCE_UNREACHABLE'));
  const sent = producers.map((producer) => producer.send({ payload: 'b' }));
  const bystander = client.openSession();
  bystander.enqueue('d', { payload: 'x' });
  await Promise.all([...sent, bystander.commit()]);
  await Promise.all(producers.map((producer) => producer.close()));
  expect(instance.queue('q').ready).toBe(6);
});

it('a connection past the limit is refused with its own error, and the others go on', async () => {
  const { client, path } = await setUp();
  lowerLimits({ connectionsMax: 2 });
  const second = await connectTo(path);
  await expect(connect({ path, connectMs: 1_000 })).rejects.toThrow(code('INSTANCE_CONNECTIONS_FULL'));
  await second.close();
  await connectTo(path);
  await client.probe();
});

it('a call that would wait is refused where too many do, and others are answered', async () => {
  const { client } = await setUp();
  lowerLimits({ requestsPerConnectionMax: 3 });
  const sessions = make(3, () => client.openSession());
  const ended = new AbortController();
  const waits = sessions.map((session) => session.dequeue('d', { waitMs: 60_000, signal: ended.signal }));
  const session = client.openSession();
  await expect(session.dequeue('d', { waitMs: 60_000 })).rejects.toThrow(code('WAITERS_FULL'));
  const consumer = await session.openConsumer('d', { prefetch: false });
  await expect(consumer.receive({ waitMs: 60_000 })).rejects.toThrow(code('WAITERS_FULL'));
  expect(await session.dequeue('d')).toEqual([]);
  await session.commit();
  ended.abort();
  expect(await Promise.all(waits)).toEqual([[], [], []]);
  session.enqueue('d', { payload: 'x' });
  await session.commit();
  expect(await consumer.receive({ waitMs: 60_000 })).toBeDefined();
});
