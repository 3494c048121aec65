/** Where sessions wait on a real instance, and that their time adds up. */
import { describe, expect, it } from 'vitest';
import type { QueueKind } from '../src/index.ts';
import { makeFolder, openTestInstance } from './folder.ts';

const kinds: QueueKind[] = ['sharded', 'unsharded', 'unsharded-grouped'];

describe.each(kinds)('the sessions of a %s queue', (kind) => {
  it('spend all of their time in named states', async () => {
    const instance = await openTestInstance({ dir: makeFolder() });
    await instance.createQueue({ name: 'q', kind });
    const work = async () => {
      const session = instance.openSession();
      const time = session.time!;
      time.resume();
      for (let round = 0; round < 5; round += 1) {
        for (let each = 0; each < 4; each += 1) session.enqueue('q', { payload: 'x' });
        await time.suspend(session.commit());
        time.resume();
        const ready = await time.suspend(session.dequeue('q', { max: 4 }));
        time.resume();
        if (ready.length === 0) continue;
        await time.suspend(session.commit());
        time.resume();
      }
      await time.suspend(session.dequeue('q', { max: 100, waitMs: 2 }));
      time.resume();
      time.yield(undefined);
      await session.close();
    };
    await Promise.all([1, 2, 3, 4, 5, 6].map(work));
    const times = instance.waits.sessionTimes();
    const { elapsedMs, cpuMs, waitMs, idleMs, runnableMs, unnamedMs } = times;
    expect(cpuMs + waitMs + idleMs + runnableMs + unnamedMs).toBeCloseTo(elapsedMs, 3);
    expect(unnamedMs).toBe(0);
    expect(waitMs).toBeGreaterThan(0);
    await instance.close();
  });
});

it('a thread syncs for one session at a time: their log file syncs are no longer than the time', async () => {
  const instance = await openTestInstance({ dir: makeFolder() });
  await instance.createQueue({ name: 'q', kind: 'unsharded', durability: 'durable' });
  const sessions = Array.from({ length: 12 }, () => instance.openSession());
  const startedAtMs = performance.now();
  for (let round = 0; round < 5; round += 1) {
    for (const session of sessions) session.enqueue('q', { payload: 'x' });
    await Promise.all(sessions.map((session) => session.commit()));
  }
  const elapsedMs = performance.now() - startedAtMs;
  const syncs = instance.waits.snapshot().find(({ event }) => event === 'log file sync')!;
  expect(syncs.waits).toBe(60);
  expect(syncs.totalMs).toBeLessThanOrEqual(elapsedMs);
  await instance.close();
});

it('a wait for messages counts while it is under way', async () => {
  const instance = await openTestInstance({ dir: makeFolder() });
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  const stop = new AbortController();
  const waiting = session.dequeue('q', { waitMs: 60_000, signal: stop.signal });
  const waits = () => instance.waits.snapshot().find(({ event }) => event === 'waiting for messages')!;
  await expect.poll(() => waits().totalMs).toBeGreaterThan(0);
  expect(waits().waits).toBe(0);
  stop.abort();
  await waiting;
  expect(waits().waits).toBe(1);
  await instance.close();
});
