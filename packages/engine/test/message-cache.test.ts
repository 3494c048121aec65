/** How queues share the message cache: the minimum and maximum of each, and the bound of all. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageCache } from '../src/log/message-cache.ts';
import { makeFolder, openTestClient, openTestInstance, text } from './folder.ts';

const code = (value: string) => expect.objectContaining({ code: value });

describe('shares of the message cache', () => {
  it('reserve the minimum of each queue, whatever other queues use', () => {
    const cache = new MessageCache(100);
    const [greedy, small] = [cache.openShare(), cache.openShare({ bytesMin: 30 })];
    while (!greedy.isFull) greedy.add(10);
    expect([greedy.bytes, small.isFull]).toEqual([70, false]);
    small.add(30);
    expect([greedy.isFull, small.isFull]).toEqual([true, true]);
    greedy.remove(10);
    expect(small.isFull).toBe(false); // Beyond its minimum it uses free space.
    small.add(10);
    small.close();
    small.remove(40);
    expect(greedy.isFull).toBe(false);
    while (!greedy.isFull) greedy.add(10);
    expect(greedy.bytes).toBe(100);
  });

  it('end at their maximum', () => {
    const cache = new MessageCache(100);
    const share = cache.openShare({ bytesMin: 10, bytesMax: 20 });
    share.add(20);
    expect(share.isFull).toBe(true);
    expect(cache.openShare().isFull).toBe(false);
  });

  it('never exceed the common bound, and never refuse a minimum, under random changes', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 3 });
    const steps = fc.array(fc.tuple(fc.nat(2), fc.boolean()), { maxLength: 300 });
    fc.assert(
      fc.property(sizes, steps, (mins, run) => {
        const cache = new MessageCache(1_000);
        const shares = mins.map((bytesMin) => cache.openShare({ bytesMin }));
        for (const [index, add] of run) {
          const share = shares[index % shares.length]!;
          if (!add) share.remove(Math.min(share.bytes, 10));
          else if (share.bytes < mins[index % mins.length]!) {
            expect(share.isFull).toBe(false);
            share.add(10);
          } else if (!share.isFull) share.add(10);
          expect(cache.bytes).toBeLessThanOrEqual(1_000 + 10 * shares.length); // The last run is added as a whole.
        }
      }),
    );
  });
});

describe('a queue with a share of the cache', () => {
  it.each([
    ['a minimum over its maximum', { cacheBytesMin: 2_000, cacheBytesMax: 1_000 }],
    ['a minimum over the whole cache', { cacheBytesMin: 10_001 }],
    ['half a byte', { cacheBytesMax: 0.5 }],
    ['none at all', { cacheBytesMax: 0 }],
    ['less', { cacheBytesMin: -1 }],
    ['any, being unsharded', { kind: 'unsharded', cacheBytesMin: 1 } as const],
  ])('is refused with %s', async (_, spec) => {
    const instance = await openTestInstance({ cacheBytesMax: 10_000 });
    await expect(instance.createQueue({ name: 'q', ...spec })).rejects.toThrow(code('QUEUE_SPEC_INVALID'));
  });

  it('is refused while the minima of all queues exceed the cache, and accepted once another queue is dropped', async () => {
    const instance = await openTestInstance({ cacheBytesMax: 10_000 });
    await instance.createQueue({ name: 'one', cacheBytesMin: 6_000 });
    const two = { name: 'two', cacheBytesMin: 6_000 };
    await expect(instance.createQueue(two)).rejects.toThrow(code('QUEUE_SPEC_INVALID'));
    await instance.dropQueue('one');
    expect(await instance.createQueue(two)).toMatchObject({ cacheBytesMin: 6_000, cacheBytesMax: null });
  });

  it('reports its limits and its use, after a restart and over a socket too', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'q', cacheBytesMin: 1_000, cacheBytesMax: 2_000 });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'x'.repeat(500) });
    await session.commit();
    const info = instance.queue('q');
    expect(info).toMatchObject({ cacheBytesMin: 1_000, cacheBytesMax: 2_000, cacheBytes: 513 });
    expect(await (await openTestClient(instance)).queue('q')).toEqual(info);
    await instance.close();
    const again = await openTestInstance({ dir });
    expect(again.queue('q')).toMatchObject({ cacheBytesMin: 1_000, cacheBytesMax: 2_000, cacheBytes: 0 });
  });

  it('keeps at most its maximum in memory, and still delivers the rest', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', cacheBytesMax: 5_000 });
    const session = instance.openSession();
    const payloads = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(500));
    for (const payload of payloads) {
      session.enqueue('q', { payload });
      await session.commit();
    }
    expect(instance.queue('q').cacheBytes).toBeLessThan(6_000);
    const out: string[] = [];
    while (out.length < 100) out.push(...text(await session.dequeue('q', { max: 100, waitMs: 10_000 })));
    expect(out).toEqual(payloads);
  });

  it('refuses nonpersistent messages past its maximum, while other queues accept more', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'small', durability: 'memory', cacheBytesMax: 1_000 });
    await instance.createQueue({ name: 'large', durability: 'memory' });
    const session = instance.openSession();
    const put = async (queue: string) => {
      session.enqueue(queue, { payload: 'x'.repeat(1_000) });
      await session.commit();
    };
    await put('small');
    await expect(put('small')).rejects.toThrow(code('BACKLOG_FULL'));
    await session.rollback();
    await put('large');
  });

  it('still has its minimum when other queues have filled the cache', async () => {
    const instance = await openTestInstance({ cacheBytesMax: 20_000 });
    await instance.createQueue({ name: 'quiet', cacheBytesMin: 5_000 });
    await instance.createQueue({ name: 'loud' });
    const session = instance.openSession();
    const put = async (queue: string, count: number) => {
      for (let i = 0; i < count; i += 1) {
        session.enqueue(queue, { payload: 'x'.repeat(1_000) });
        await session.commit();
      }
      return instance.queue(queue).cacheBytes;
    };
    expect(await put('loud', 30)).toBeLessThan(17_000);
    expect(await put('quiet', 4)).toBe(4 * 1_013);
  });
});
