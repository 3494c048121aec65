/** Several pairs of an enqueuer and a dequeuer, each on its own thread: every message arrives once and in order. */
import { describe, expect, it } from 'vitest';
import { SessionThread, shareTopic, statisticsOf } from './shared.ts';

const messages = 25;

describe.each([
  { method: 'listen', copies: 1 },
  { method: 'listen', copies: 4 },
  { method: 'subscriber', copies: 1 },
])('pairs that dequeue by $method, with $copies copies of the object', ({ method, copies }) => {
  it('get each message once, and none is left', async () => {
    const names = ['KSUB_1', 'KSUB_2', 'KSUB_3'];
    const { shared, instance } = await shareTopic(names, { copies }, { durability: 'relaxed' });
    const threads = await Promise.all(
      names.flatMap(() => [SessionThread.open(shared), SessionThread.open(shared)]),
    );
    const pairs = names.map((name, index) => ({
      name,
      enqueuer: threads[2 * index]!,
      dequeuer: threads[2 * index + 1]!,
    }));
    await Promise.all(
      pairs.flatMap(({ name, enqueuer, dequeuer }) => [
        (async () => {
          for (let each = 0; each < messages; each += 1) await enqueuer.enqueue(`${name} ${each}`, name);
        })(),
        (async () => {
          for (let each = 0; each < messages; each += 1) {
            if (method === 'listen') await dequeuer.listen([name], 60_000);
            const waitMs = method === 'listen' ? 0 : 60_000;
            expect(await dequeuer.dequeue(name, { waitMs })).toBe(`${name} ${each}`);
          }
        })(),
      ]),
    );
    const { subscribers, listeners, locksHeld, pinsHeld, posts } = shared.statistics();
    expect(subscribers.map(({ ready }) => ready)).toEqual([0, 0, 0]);
    expect({ listeners, locksHeld, pinsHeld }).toEqual({ listeners: 0, locksHeld: 0, pinsHeld: 0 });
    if (method === 'subscriber') expect(posts).toBe(0);
    for (const { name, dequeuer } of pairs) {
      const { latch, mutex, pins, locks, wakeUps, dequeued, ...rest } = statisticsOf(shared, dequeuer);
      expect(dequeued).toBe(messages);
      expect(mutex.misses).toBe(mutex.spinGets + mutex.sleeps - mutex.recurrentSleeps);
      expect(latch.misses).toBe(latch.spinGets + latch.sleeps - latch.recurrentSleeps);
      if (method === 'listen') {
        // Each listen checks its subscriber twice, and twice more after each wake-up.
        expect(locks).toBe(2 * (messages + wakeUps));
        expect(pins).toBe(locks + messages);
        expect(mutex.gets).toBe(6 * locks + 6 * messages);
        expect(latch.gets).toBeGreaterThanOrEqual(3 * messages + 6 * wakeUps);
        expect(rest.falseWakeUps).toBeLessThanOrEqual(wakeUps);
        expect(rest.postsTaken).toBeGreaterThanOrEqual(wakeUps);
      } else expect({ locks, latch: latch.gets }).toEqual({ locks: 0, latch: 0 });
      expect((await instance.browse('news', { subscriber: name })).messages).toEqual([]);
    }
  });
});
