/** Browsing shows the state of each waiting message, and when that state ends. */
import { describe, expect, it } from 'vitest';
import type { BrowsedMessage, Instance } from '../src/index.ts';
import { openTestInstance, text } from './folder.ts';

const hourMs = 3_600_000;

async function put(instance: Instance, queue: string, ...messages: { payload: string }[]): Promise<void> {
  const session = instance.openSession();
  for (const message of messages) session.enqueue(queue, message);
  await session.commit();
}

const states = (messages: readonly BrowsedMessage[]) =>
  messages.map(({ payload, state }) => `${payload} ${state}`);
const about = (atMs: number) => (untilMs: number | undefined) =>
  untilMs !== undefined && Math.abs(untilMs - atMs) < 60_000;

describe('a browse', () => {
  it('shows delayed messages behind all others, ordered by the time when they are due, with that time', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders', shards: 2 });
    await instance.createQueue({ name: 'other' });
    await put(instance, 'other', { payload: 'x', delayMs: hourMs } as { payload: string });
    const delays = [3, 1, 2].map((hours) => ({ payload: `${hours} h`, delayMs: hours * hourMs }));
    await put(instance, 'orders', ...delays, { payload: 'now' });
    const { messages, next } = await instance.browse('orders');
    expect(states(messages)).toEqual(['now ready', '1 h delayed', '2 h delayed', '3 h delayed']);
    expect(messages[1]!.untilMs).toSatisfy(about(Date.now() + hourMs));
    expect(messages[1]!.deliveryCount).toBe(0);
    expect(next).toBeNull();
  });

  it('shows each delayed message once over several pages', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    const payloads = Array.from({ length: 23 }, (_, index) => String(index).padStart(2, '0'));
    const later = payloads.map((payload, index) => ({
      payload,
      ...(index > 4 && { delayMs: hourMs + index }),
    }));
    await put(instance, 'orders', ...later);
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await instance.browse('orders', { limit: 4, ...(after !== undefined && { after }) });
      seen.push(...text(page.messages));
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual(payloads);
  });

  it('shows a delayed message to its recipients only, with the id that its commit returned', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'news', type: 'topic' });
    for (const name of ['a', 'b']) await instance.subscribe('news', { name });
    const session = instance.openSession();
    session.enqueue('news', { payload: 'x', delayMs: hourMs, recipients: ['b'] });
    const { ids } = await session.commit();
    expect((await instance.browse('news', { subscriber: 'a' })).messages).toEqual([]);
    expect((await instance.browse('news', { subscriber: 'b' })).messages).toMatchObject([
      { id: ids[0], recipients: ['b'], state: 'delayed' },
    ]);
  });

  it.each(['sharded', 'unsharded', 'unsharded-grouped'] as const)(
    'of a %s queue says when the hold of a message ends, unless a transaction holds it',
    async (kind) => {
      const instance = await openTestInstance();
      await instance.createQueue({ name: 'orders', kind });
      await put(instance, 'orders', { payload: 'timed' }, { payload: 'open' }, { payload: 'free' });
      const [consumer, transaction] = [instance.openSession(), instance.openSession()];
      const [held] = await consumer.receive('orders', { holdMs: hourMs });
      await transaction.dequeue('orders');
      const { messages } = await instance.browse('orders');
      expect(states(messages)).toEqual(['timed held', 'open held', 'free ready']);
      expect(messages[0]!.untilMs).toSatisfy(about(Date.now() + hourMs));
      expect(messages.map(({ untilMs }) => untilMs === undefined)).toEqual([false, true, true]);
      // The acknowledgement is staged, so from now on the transaction ends the hold, and no timer does.
      consumer.acknowledge('orders', [held!.receipt]);
      await consumer.rollback();
      expect((await instance.browse('orders')).messages[0]!.untilMs).toBeDefined();
    },
  );

  it('says when the retry delay of a returned message ends', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders', retryDelayMs: hourMs });
    await put(instance, 'orders', { payload: 'again' });
    const session = instance.openSession();
    await session.dequeue('orders');
    await session.rollback();
    const { messages } = await instance.browse('orders');
    expect(messages).toMatchObject([{ state: 'delayed', deliveryCount: 1 }]);
    expect(messages[0]!.untilMs).toSatisfy(about(Date.now() + hourMs));
  });

  it('ends with an error if its queue is dropped or its subscriber removed meanwhile', async () => {
    const instance = await openTestInstance({ partitionMessagesMax: 2 });
    await instance.createQueue({ name: 'orders' });
    await instance.createQueue({ name: 'news', type: 'topic' });
    await instance.subscribe('news', { name: 'one' });
    const messages = Array.from({ length: 2 }, (_, i) => ({ payload: `${i}` }));
    for (const queue of ['orders', 'news']) {
      for (let i = 0; i < 5; i += 1) await put(instance, queue, ...messages);
    }
    const ends = [
      expect(instance.browse('orders')).rejects.toMatchObject({ code: 'QUEUE_DROPPED' }),
      expect(instance.browse('news', { subscriber: 'one' })).rejects.toMatchObject({
        code: 'SUBSCRIBER_NOT_FOUND',
      }),
    ];
    await Promise.all([instance.dropQueue('orders'), instance.unsubscribe('news', 'one'), ...ends]);
  });

  it('refuses an end of a page that it never returned', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    for (const after of ['delayed.x.1', 'delayed.1', 'held.1.1', '1.1.1', '']) {
      await expect(instance.browse('orders', { after })).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
    }
  });
});
