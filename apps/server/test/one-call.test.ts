/** How often one call of the API asks the engine: a round trip each, where instances have processes of their own. */
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { openInstance, type QueueSpec } from '@shardlab/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { QueueService } from '../src/queues/queue-service.ts';
import { makeDataDir } from './start-app.ts';

/** A service on a queue, which counts what it asks of the instance. */
async function countingService(spec: Partial<QueueSpec> = {}) {
  const instance = await openInstance({ dir: join(makeDataDir(), 'cluster') });
  onTestFinished(() => instance.close());
  await instance.createQueue({ name: 'q', durability: 'relaxed', ...spec });
  const calls = { receive: 0, browse: 0 };
  const service = new QueueService({
    queues: {
      openSession() {
        const session = instance.openSession();
        const receive = session.receive.bind(session);
        return Object.assign(session, {
          receive(...args: Parameters<typeof receive>) {
            calls.receive += 1;
            return receive(...args);
          },
        });
      },
      browse(...args) {
        calls.browse += 1;
        return instance.browse(...args);
      },
    },
  });
  const connection = new EventEmitter();
  const enqueue = (count: number, payload: string) =>
    service.enqueue(
      connection,
      'q',
      Array.from({ length: count }, () => ({ payload })),
    );
  return { instance, service, calls, enqueue };
}

const never = new AbortController().signal;

describe.each(['sharded', 'unsharded', 'unsharded-grouped'] as const)('with a queue that is %s', (kind) => {
  it('a dequeue of 1,000 and a browse of 500 are one call each', async () => {
    const { service, calls, enqueue } = await countingService({ kind });
    await enqueue(1_000, 'small');
    expect((await service.browse('q', { limit: 500 })).messages).toHaveLength(500);
    const { messages } = await service.dequeue('q', { max: 1_000 }, never);
    expect([messages.length, calls]).toEqual([1_000, { receive: 1, browse: 1 }]);
  });

  it('an answer has at most 16 MiB of payloads, whatever their number, and loses none of the rest', async () => {
    const { instance, service, calls, enqueue } = await countingService({ kind });
    const large = 'x'.repeat(900_000);
    for (let index = 0; index < 20; index += 1) await enqueue(1, large);
    const page = await service.browse('q', { limit: 500 });
    expect([page.messages.length, page.next === null]).toEqual([18, false]);
    const rest = await service.browse('q', { limit: 500, after: page.next! });
    expect([rest.messages.length, rest.next]).toEqual([2, null]);
    const { messages } = await service.dequeue('q', { max: 1_000 }, never);
    expect([messages.length, calls.receive]).toEqual([18, 1]);
    expect(instance.queue('q')).toMatchObject({ ready: 2, held: 18 });
    const others = await service.dequeue('q', { max: 1_000, mode: 'at-most-once' }, never);
    expect(others.messages.map(({ deliveryCount }) => deliveryCount)).toEqual([1, 1]);
  });

  it('a search for held messages among 12,000 reads 10,000 in one call', async () => {
    const { service, calls, enqueue } = await countingService({ kind });
    for (let index = 0; index < 12; index += 1) await enqueue(1_000, 'small');
    const held = await service.dequeue('q', { max: 3 }, never);
    const found = await service.browse('q', { state: 'held' });
    expect(found.messages.map(({ id }) => id).sort()).toEqual(held.messages.map(({ id }) => id).sort());
    expect([found.next, calls.browse <= 2]).toEqual([null, true]);
    const ready = await service.browse('q', { state: 'ready', limit: 5 });
    expect(ready.messages.map(({ state }) => state)).toEqual(Array(5).fill('ready'));
  });
});
