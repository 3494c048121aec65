/** The pipeline of a consumer: how many messages are sent ahead of its calls, in which order, and when none are sent. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { ConsumerOptions, Instance } from '../../src/index.ts';
import { text } from '../folder.ts';
import { fill, numbers, openQueue, payloadOf, receiveAll } from './consumer-support.ts';
import { code } from './serving.ts';

const megabyte = 1024 * 1024;

const held = async (instance: Instance) => instance.queue('q').held;

describe('a pipeline', () => {
  it('holds the maximum number of messages and no more', async () => {
    const { instance, session } = await openQueue();
    await fill(instance, numbers(100));
    const options: ConsumerOptions = { ackMode: 'client', prefetch: true, messagesMaximum: 7 };
    const consumer = await session.openConsumer('q', options);
    expect(payloadOf(await consumer.receive())).toBe('0');
    // Seven messages are in the pipeline, and the application has one.
    await expect.poll(() => held(instance)).toBe(8);
    await consumer.recover();
    expect(payloadOf(await consumer.receive())).toBe('0');
  });

  it.each([
    { messagesMaximum: undefined, inAll: 11 },
    { messagesMaximum: 1, inAll: 1 },
  ])(
    'has 10 messages by default and none at a maximum of 1, besides the message of the application (messagesMaximum $messagesMaximum)',
    async ({ messagesMaximum, inAll }) => {
      const { instance, session } = await openQueue();
      await fill(instance, numbers(100));
      const size = messagesMaximum === undefined ? {} : { messagesMaximum };
      const consumer = await session.openConsumer('q', { ackMode: 'client', prefetch: true, ...size });
      await consumer.receive();
      await expect.poll(() => held(instance)).toBe(inAll);
      await consumer.close();
    },
  );

  it('is not filled before the first receive, and never without prefetch', async () => {
    const { instance, session } = await openQueue();
    await fill(instance, numbers(100));
    const consumer = await session.openConsumer('q', { ackMode: 'client' });
    expect(consumer.prefetching).toBeUndefined();
    await consumer.receive();
    expect(consumer.prefetching).toBe(false);
    expect(await held(instance)).toBe(1);
  });

  it('has its messages in the order of the queue when they are sent, and later ones behind them', async () => {
    const { instance, session } = await openQueue({ priorities: true });
    await fill(instance, ['low 1', 'low 2', 'low 3', 'low 4'], 1);
    await fill(instance, ['urgent'], 9);
    const consumer = await session.openConsumer('q', { prefetch: true, messagesMaximum: 3 });
    expect(payloadOf(await consumer.receive())).toBe('urgent');
    await expect.poll(() => held(instance)).toBeGreaterThanOrEqual(3);
    await fill(instance, ['more urgent'], 9);
    const rest = text(await receiveAll(consumer, 5));
    expect(rest.slice(0, 2)).toEqual(['low 1', 'low 2']); // These were in the pipeline already.
    expect(rest).toContain('more urgent');
  });

  it('of a queue that counts each delivery holds one message, so that attempts are hardly used up unseen', async () => {
    const { instance, session } = await openQueue({ attemptsMax: 2, attemptsCounted: 'on-delivery' });
    await fill(instance, numbers(10));
    const consumer = await session.openConsumer('q', { ackMode: 'client', prefetch: true });
    await consumer.receive();
    await expect.poll(() => held(instance)).toBe(2);
    await consumer.close();
    const left = await instance.openSession().dequeue('q', { max: 100 });
    expect(left.map(({ deliveryCount }) => deliveryCount)).toEqual([2, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it('grows as its consumer takes messages, and leaves messages to other consumers while that is slow', async () => {
    const { instance, client, session } = await openQueue();
    await fill(instance, numbers(1_000));
    const options: ConsumerOptions = { ackMode: 'client', prefetch: true, messagesMaximum: 1_000 };
    const slow = await session.openConsumer('q', options);
    await slow.receive();
    await expect.poll(() => held(instance)).toBe(11);
    const unfair = await client.openSession().openConsumer('q', { ...options, fair: false });
    await unfair.receive();
    await expect.poll(() => instance.queue('q').ready).toBe(0); // The unfair pipeline got all other messages.
    await unfair.close();
    const taken = await receiveAll(slow, 300); // From now on the consumer is fast.
    expect(taken).toHaveLength(300);
    await expect.poll(() => held(instance)).toBeGreaterThan(320);
  });
});

describe('prefetch', () => {
  const prefetch: ConsumerOptions = { prefetch: true };

  it('is off for the session if it has a second consumer before the first receive', async () => {
    const { instance, session } = await openQueue();
    await fill(instance, numbers(50));
    const first = await session.openConsumer('q', prefetch);
    const second = await session.openConsumer('q', prefetch);
    expect(payloadOf(await first.receive())).toBe('0');
    expect(payloadOf(await second.receive())).toBe('1');
    expect([first.prefetching, second.prefetching]).toEqual([false, false]);
  });

  it('keeps its session from opening a second consumer or a branch after the first receive', async () => {
    const { instance, session } = await openQueue();
    await fill(instance, numbers(50));
    const consumer = await session.openConsumer('q', prefetch);
    expect(payloadOf(await consumer.receive())).toBe('0');
    await expect(session.openConsumer('q')).rejects.toThrow(code('PREFETCH_ACTIVE'));
    const xid = { formatId: 1, gtrid: Buffer.from('g'), bqual: Buffer.from('b') };
    await expect(session.xa!.start(xid)).rejects.toThrow(code('PREFETCH_ACTIVE'));
    expect(payloadOf(await consumer.receive())).toBe('1');
  });

  it('is off if the first receive is part of a branch, which consumes the received message', async () => {
    const { instance, session } = await openQueue();
    await fill(instance, numbers(3));
    const consumer = await session.openConsumer('q', prefetch);
    const xid = { formatId: 1, gtrid: Buffer.from('g'), bqual: Buffer.from('b') };
    await session.xa!.start(xid);
    expect(payloadOf(await consumer.receive())).toBe('0');
    expect(consumer.prefetching).toBe(false);
    await session.xa!.end(xid);
    await session.xa!.prepare(xid);
    await session.xa!.commit(xid);
    expect(payloadOf(await consumer.receive())).toBe('1');
    await expect.poll(() => instance.queue('q').consumed).toBe(2);
  });
});

describe('a pipeline of large messages', () => {
  it('continues after its connection was full, even if the consumer acknowledged meanwhile', async () => {
    const { instance, session } = await openQueue({ durability: 'memory' });
    const enqueuer = instance.openSession();
    const count = 3 * (limits.outboxBytesMax / megabyte);
    for (let index = 0; index < count; index += 1)
      enqueuer.enqueue('q', { payload: Buffer.alloc(megabyte, index) });
    await enqueuer.commit();
    const consumer = await session.openConsumer('q', {
      prefetch: true,
      fair: false,
      messagesMaximum: count,
    });
    const messages = await receiveAll(consumer, count);
    expect(messages.map(({ payload }) => payload[0])).toEqual(numbers(count).map(Number));
    await expect.poll(() => instance.queue('q').consumed).toBe(count);
  });
});
