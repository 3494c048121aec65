import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { JsonText } from '@shardlab/contract';
import { openInstance } from '@shardlab/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { QueueService } from '../src/queues/queue-service.ts';
import { makeDataDir } from './start-app.ts';

async function serviceWith(payloads: unknown[]) {
  const instance = await openInstance({ dir: join(makeDataDir(), 'cluster') });
  onTestFinished(() => instance.close());
  await instance.createQueue({ name: 'q', durability: 'relaxed' });
  const service = new QueueService({ queues: instance });
  await service.enqueue(
    new EventEmitter(),
    'q',
    payloads.map((payload) => ({ payload })),
  );
  return { instance, service };
}

/** The JSON texts with which the service answers for payloads that were enqueued as these values. */
const texts = (values: unknown[]) => values.map((value) => new JsonText(JSON.stringify(value)));

const never = new AbortController().signal;

describe.each(['at-most-once', 'manual'] as const)(
  'a client that disconnects before its %s dequeue is done',
  (mode) => {
    it('takes no messages: those that were delivered are ready again', async () => {
      const { instance, service } = await serviceWith([1, 2, 3]);
      const { messages } = await service.dequeue('q', { max: 3, mode }, AbortSignal.abort());
      expect(messages).toEqual([]);
      expect(instance.queue('q')).toMatchObject({ ready: 3, held: 0, consumed: 0 });
      const next = await service.dequeue('q', { max: 3, mode }, never);
      expect(next.messages.map(({ payload }) => payload)).toEqual(texts([1, 2, 3]));
    });
  },
);

describe('a client that has no room for an answer', () => {
  const room = {
    take(bytes: number) {
      if (bytes > 0) throw new Error(`no room for ${bytes} bytes`);
    },
  };

  it.each(['at-most-once', 'manual'] as const)(
    'gets no messages of a dequeue (%s): they are ready again',
    async (mode) => {
      const { instance, service } = await serviceWith([1, 2, 3]);
      await expect(service.dequeue('q', { max: 3, mode }, never, room)).rejects.toThrow(
        'no room for 3 bytes',
      );
      expect(instance.queue('q')).toMatchObject({ ready: 3, held: 0, consumed: 0 });
    },
  );

  it('is refused a page', async () => {
    const { service } = await serviceWith([1, 2, 3]);
    await expect(service.browse('q', {}, { room })).rejects.toThrow('no room for 3 bytes');
    expect(await service.browse('q', { state: 'held' }, { room })).toEqual({ messages: [], next: null });
  });
});

describe('a client that disconnects while it browses', () => {
  it('ends the search for messages in the state that it asked for', async () => {
    const { instance } = await serviceWith([1]);
    const gone = new AbortController();
    let pages = 0;
    const service = new QueueService({
      queues: {
        openSession: () => instance.openSession(),
        async browse(queue) {
          pages += 1;
          if (pages === 2) gone.abort();
          return { ...(await instance.browse(queue)), next: 'more' };
        },
      },
    });
    await service.browse('q', { state: 'held' }, { signal: gone.signal });
    expect(pages).toBe(2);
  });
});

describe('a nack', () => {
  it('makes held messages ready at once, and does nothing to acknowledged ones', async () => {
    const { instance, service } = await serviceWith([1, 2]);
    const first = await service.dequeue('q', { max: 1 }, never);
    const second = await service.dequeue('q', { max: 1 }, never);
    await service.acknowledge('q', [second.messages[0]!.receipt!]);
    second.nack();
    first.nack();
    const again = await service.dequeue('q', { max: 5, waitMs: 20_000 }, never);
    expect(again.messages).toMatchObject([{ payload: new JsonText('1'), deliveryCount: 2 }]);
    expect(instance.queue('q')).toMatchObject({ held: 1, consumed: 1 });
  });

  it('does nothing to messages that were consumed before the answer', async () => {
    const { instance, service } = await serviceWith([1]);
    const { nack } = await service.dequeue('q', { mode: 'at-most-once' }, never);
    nack();
    expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0, consumed: 1 });
  });
});

describe('a dequeue of many', () => {
  it('returns as many messages as are ready, up to the maximum, in order', async () => {
    const { service } = await serviceWith(Array.from({ length: 100 }, (_, index) => index));
    const { messages } = await service.dequeue('q', { max: 70, mode: 'at-most-once' }, never);
    expect(messages.map(({ payload }) => payload)).toEqual(
      texts(Array.from({ length: 70 }, (_, index) => index)),
    );
    expect((await service.dequeue('q', { max: 70, mode: 'at-most-once' }, never)).messages).toHaveLength(30);
  });
});
