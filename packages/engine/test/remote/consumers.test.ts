/** Consumers: which messages they are given, in which order, and which are returned when they end. */
import { describe, expect, it, vi } from 'vitest';
import { type ConsumerOptions, connect } from '../../src/index.ts';
import { openTestInstance, text } from '../folder.ts';
import { waiting } from '../waiting.ts';
import { fill, numbers, openQueue, payloadOf, receiveAll } from './consumer-support.ts';
import { code, connectTo, drain, serve } from './serving.ts';

const modes = ['auto', 'client', 'dups-ok', 'transacted'] as const;

describe.each(['durable', 'memory'] as const)('a consumer of a %s queue', (durability) => {
  it.each(modes.flatMap((ackMode) => [false, true].map((prefetch) => ({ ackMode, prefetch }))))(
    'gets all messages in order and consumes them ($ackMode, prefetch $prefetch)',
    async (options) => {
      const { instance, session } = await openQueue({ durability });
      await fill(instance, numbers(40));
      const consumer = await session.openConsumer('q', options);
      const messages = await receiveAll(consumer, 40);
      expect(text(messages)).toEqual(numbers(40));
      expect(messages.every(({ deliveryCount }) => deliveryCount === 1)).toBe(true);
      if (options.ackMode === 'client') await consumer.acknowledge();
      if (options.ackMode === 'transacted') await session.commit();
      await vi.waitFor(
        () => expect(instance.queue('q')).toMatchObject({ held: 0, ready: 0, consumed: 40 }),
        waiting,
      );
      expect(await consumer.receiveNoWait()).toBeUndefined();
      await consumer.close();
    },
  );

  it.each(modes)('with a listener gets messages as they come, one after the other (%s)', async (ackMode) => {
    const { instance, session } = await openQueue({ durability });
    const got: string[] = [];
    let active = 0;
    await session.openConsumer('q', {
      ackMode,
      listener: async (message) => {
        active += 1;
        expect(active).toBe(1);
        got.push(message.payload.toString());
        await new Promise((resolve) => setImmediate(resolve));
        active -= 1;
        if (ackMode === 'transacted') await session.commit();
      },
    });
    await fill(instance, numbers(15));
    await fill(instance, ['last']);
    await vi.waitFor(() => expect(got).toEqual([...numbers(15), 'last']), waiting);
    const consumed = ackMode === 'client' ? 0 : 16;
    await vi.waitFor(() => expect(instance.queue('q').consumed).toBe(consumed), waiting);
  });

  it('gets the same messages again after a rollback, as redeliveries, and then the others as new ones', async () => {
    const { instance, session } = await openQueue({ durability });
    await fill(instance, numbers(12));
    const consumer = await session.openConsumer('q', { ackMode: 'transacted', prefetch: true });
    await receiveAll(consumer, 2);
    await session.commit();
    expect(text(await receiveAll(consumer, 3))).toEqual(['2', '3', '4']);
    await session.rollback();
    const again = await receiveAll(consumer, 10);
    expect(text(again)).toEqual(numbers(12).slice(2));
    expect(again.map(({ deliveryCount }) => deliveryCount)).toEqual([2, 2, 2, 1, 1, 1, 1, 1, 1, 1]);
    await session.commit();
    expect(instance.queue('q').consumed).toBe(12);
  });

  it('returns at its close the messages that it had not acknowledged, in order', async () => {
    const { instance, session } = await openQueue({ durability });
    await fill(instance, numbers(12));
    const consumer = await session.openConsumer('q', { ackMode: 'client', prefetch: true });
    await receiveAll(consumer, 3);
    await consumer.acknowledge();
    await receiveAll(consumer, 2);
    await consumer.close();
    const left = await instance.openSession().dequeue('q', { max: 100 });
    expect(text(left)).toEqual(numbers(12).slice(3));
    expect(left.map(({ deliveryCount }) => deliveryCount)).toEqual([2, 2, 1, 1, 1, 1, 1, 1, 1]);
  });
});

describe('a consumer', () => {
  it('of a topic gets the messages of its subscriber', async () => {
    const { instance, session } = await openQueue({
      type: 'topic',
      durability: 'memory',
      visibility: 'immediate',
    });
    await instance.subscribe('q', { name: 'one' });
    await instance.subscribe('q', { name: 'two' });
    const got: Record<string, string[]> = { one: [], two: [] };
    for (const subscriber of ['one', 'two']) {
      await session.openConsumer('q', {
        subscriber,
        listener: (message) => void got[subscriber]!.push(message.payload.toString()),
      });
    }
    await instance.openSession().enqueueNow('q', ...numbers(25).map((payload) => ({ payload })));
    await vi.waitFor(() => expect(got).toEqual({ one: numbers(25), two: numbers(25) }), waiting);
    await vi.waitFor(() => expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0 }), waiting);
  });

  it('whose listener throws gets the message again after its back-off, and meanwhile those behind it', async () => {
    const { instance, session } = await openQueue();
    const got: string[] = [];
    const errors: unknown[] = [];
    await session.openConsumer('q', {
      listener: (message) => {
        got.push(`${message.payload} ${message.deliveryCount}`);
        if (payloadOf(message) === '1' && message.deliveryCount < 3) throw new Error('not yet');
      },
      onError: (error) => errors.push(error),
    });
    await fill(instance, numbers(4));
    await vi.waitFor(() => expect(got).toEqual(['0 1', '1 1', '2 1', '3 1', '1 2', '1 3']), waiting);
    expect(errors).toHaveLength(2);
    await vi.waitFor(() => expect(instance.queue('q')).toMatchObject({ held: 0, consumed: 4 }), waiting);
  });

  it('ends if it makes no call for its visibility timeout, and its messages are ready again', async () => {
    const { instance, session } = await openQueue();
    await fill(instance, numbers(20));
    const options: ConsumerOptions = { ackMode: 'client', prefetch: true, holdMs: 50 };
    const consumer = await session.openConsumer('q', options);
    await consumer.receive();
    await vi.waitFor(() => expect(instance.queue('q')).toMatchObject({ ready: 20, held: 0 }), waiting);
    await expect(consumer.acknowledge()).rejects.toThrow(code('CONSUMER_STALLED'));
    await expect(consumer.receive()).rejects.toThrow(code('CONSUMER_STALLED'));
    const other = await session.openConsumer('q');
    expect(await other.receive()).toMatchObject({ deliveryCount: 2 });
  });

  it('makes the transaction of its messages fail if it ends by its visibility timeout', async () => {
    const { instance, session } = await openQueue();
    await instance.createQueue({ name: 'out' });
    await fill(instance, numbers(2));
    const consumer = await session.openConsumer('q', { ackMode: 'transacted', holdMs: 50 });
    session.enqueue('out', { payload: (await consumer.receive())!.payload });
    // No call of the consumer may be used to wait, as each restarts its visibility timeout.
    await vi.waitFor(() => expect(instance.queue('q')).toMatchObject({ ready: 2, held: 0 }), waiting);
    await expect(consumer.receiveNoWait()).rejects.toThrow(code('CONSUMER_STALLED'));
    await expect(session.commit()).rejects.toThrow(code('CONSUMER_STALLED'));
    expect(instance.queue('q')).toMatchObject({ ready: 2, held: 0 });
    expect(instance.queue('out').enqueued).toBe(0);
    session.enqueue('out', { payload: 'next' });
    await session.commit();
    expect(instance.queue('out').enqueued).toBe(1);
  });

  it('whose client is closed returns all messages that it was sent, in order', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    await fill(instance, numbers(20));
    const served = await serve(instance);
    const client = await connect({ path: served.path });
    const consumer = await client.openSession().openConsumer('q', { ackMode: 'client', prefetch: true });
    await consumer.receive();
    await client.close();
    expect(await drain(instance)).toEqual(numbers(20));
  });

  it('waits until the given time is over, the wait is aborted or the consumer is closed', async () => {
    const { session } = await openQueue();
    for (const prefetch of [false, true]) {
      const consumer = await session.openConsumer('q', { prefetch });
      expect(await consumer.receive({ waitMs: 5 })).toBeUndefined();
      const abort = new AbortController();
      const aborted = consumer.receive({ signal: abort.signal });
      abort.abort();
      expect(await aborted).toBeUndefined();
      const waiting = consumer.receive();
      await expect(consumer.receive()).rejects.toThrow(code('SESSION_BUSY'));
      await consumer.close();
      expect(await waiting).toBeUndefined();
      await expect(consumer.receive()).rejects.toThrow(code('CONSUMER_CLOSED'));
    }
  });

  it('is refused for a missing or unsupported queue, and with invalid options', async () => {
    const { instance, session } = await openQueue({ type: 'topic' });
    await instance.createQueue({ name: 'plain', kind: 'unsharded' });
    const open = (queue: string, options: object) => session.openConsumer(queue, options);
    await expect(open('none', {})).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    await expect(open('plain', {})).rejects.toThrow(code('CONSUMER_UNSUPPORTED'));
    await expect(open('q', {})).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(open('q', { subscriber: 's', messagesMaximum: 0 })).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(open('q', { subscriber: 's', ackMode: 'never' })).rejects.toThrow(code('OPTIONS_INVALID'));
    await expect(open('q', { subscriber: 's', holdMs: 1 })).rejects.toThrow(code('OPTIONS_INVALID'));
  });
});

describe('a session that is closed', () => {
  it('during the work of a listener and of sends does not disturb other sessions of its connection', async () => {
    const { instance, client, session } = await openQueue();
    await instance.createQueue({ name: 'm', durability: 'memory', visibility: 'immediate' });
    await fill(instance, numbers(2));
    const working = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    await session.openConsumer('q', {
      listener: async () => {
        working.resolve();
        await end.promise;
      },
    });
    await working.promise;
    const producer = session.openProducer('m', { oneWay: { windowMessages: 10 } });
    await producer.send({ payload: 'a' });
    await session.close();
    end.resolve();
    await expect(producer.send({ payload: 'b' })).rejects.toThrow(code('CONSUMER_CLOSED'));
    const other = client.openSession();
    expect(text(await other.dequeueNow('m'))).toEqual(['a']);
    const again = await other.dequeue('q', { max: 2 });
    expect(again.map(({ deliveryCount }) => deliveryCount)).toEqual([2, 1]);
    await new Promise((resolve) => setImmediate(resolve)); // The acknowledgement of the listener has been sent by now.
    await other.commit();
    expect(instance.queue('q').consumed).toBe(2);
  });
});

describe('a transaction', () => {
  it('does not consume messages that consumers of other modes were given', async () => {
    const { instance, session } = await openQueue();
    await fill(instance, numbers(4));
    const transacted = await session.openConsumer('q', { ackMode: 'transacted' });
    const client = await session.openConsumer('q', { ackMode: 'client' });
    await transacted.receive();
    await client.receive();
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ consumed: 1, held: 1 });
    await client.acknowledge();
    expect(instance.queue('q')).toMatchObject({ consumed: 2, held: 0 });
  });

  it('consumes the messages of its consumers and enqueues others, all or nothing', async () => {
    const { instance, session } = await openQueue();
    await instance.createQueue({ name: 'out' });
    await fill(instance, numbers(6));
    const consumer = await session.openConsumer('q', { ackMode: 'transacted', prefetch: true });
    expect(text(await consumer.receiveBatch({ max: 3 }))).toEqual(numbers(3).slice(0, 3));
    session.enqueue('out', { payload: 'a' });
    await session.commit();
    expect(instance.queue('out').ready).toBe(1);
    expect(instance.queue('q').consumed).toBe(3);
    await consumer.receiveBatch({ max: 2 });
    session.enqueue('none', { payload: 'b' });
    await expect(session.commit()).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    const again = await receiveAll(consumer, 3);
    expect(again.map((each) => `${each.payload} ${each.deliveryCount}`)).toEqual(['3 2', '4 2', '5 1']);
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ held: 0, ready: 0, consumed: 6 });
  });

  it('can be committed in one call with the dequeue that follows it', async () => {
    const { instance, session } = await openQueue();
    await fill(instance, numbers(4));
    expect(text(await session.dequeue('q', { max: 2 }))).toEqual(['0', '1']);
    session.enqueue('q', { payload: 'new' });
    const { committed, messages } = await session.commitAndDequeue('q', { max: 2 });
    expect(committed.ids).toHaveLength(1);
    expect(text(messages)).toEqual(['2', '3']);
    expect(instance.queue('q').consumed).toBe(2);
    await session.rollback();
    expect(instance.queue('q')).toMatchObject({ ready: 3, held: 0 });
    session.enqueue('none', { payload: 'b' });
    await expect(session.commitAndDequeue('q')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    expect(instance.queue('q').held).toBe(0);
    expect(text(await session.dequeue('q', { max: 9 }))).toEqual(['2', '3', 'new']);
  });
});

describe('a consumer whose connection is lost', () => {
  it('continues over the next connection, and its transaction is rolled back', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    await fill(instance, numbers(20));
    const served = await serve(instance);
    const session = (await connectTo(served.path)).openSession();
    const consumer = await session.openConsumer('q', { ackMode: 'transacted', prefetch: true });
    expect(text(await receiveAll(consumer, 3))).toEqual(numbers(3));
    await served.close();
    await serve(instance, served.path);
    await expect(receiveAll(consumer, 20)).rejects.toThrow(code('TX_NOT_COMMITTED')); // This reaches beyond the messages that were sent ahead.
    expect(text(await receiveAll(consumer, 20))).toEqual(numbers(20));
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0 });
  });

  it('is reopened without a call if it has a listener', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const served = await serve(instance);
    const got: string[] = [];
    const session = (await connectTo(served.path)).openSession();
    await session.openConsumer('q', { listener: (message) => void got.push(message.payload.toString()) });
    await fill(instance, ['before']);
    await vi.waitFor(() => expect(got).toEqual(['before']), waiting);
    await expect.poll(() => instance.queue('q').consumed).toBe(1);
    await served.close();
    await serve(instance, served.path);
    await fill(instance, ['after']);
    await vi.waitFor(() => expect(got).toEqual(['before', 'after']), waiting);
  });
});
