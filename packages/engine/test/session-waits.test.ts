/** The time books of sessions on a real instance: their wait events, and that the parts of their time add up. */
import { describe, expect, it } from 'vitest';
import { payloadRead, type QueueKind } from '../src/index.ts';
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

it('a session that streams a payload is on CPU or in the wait events of payloads', async () => {
  const instance = await openTestInstance({ dir: makeFolder() });
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  const time = session.time!;
  async function* pieces() {
    for (let piece = 0; piece < 8; piece += 1) yield Buffer.alloc(256 * 1024, piece);
  }
  time.resume();
  await time.suspend(session.enqueueStream('q', { payload: pieces() }));
  time.resume();
  await time.suspend(session.commit());
  time.resume();
  const [message] = await time.suspend(session.dequeue('q', { max: 1 }));
  time.resume();
  let bytes = 0;
  time.suspend(undefined, payloadRead);
  for await (const piece of message!.payloadStream()) {
    time.resume();
    bytes += piece.length;
    time.suspend(undefined, payloadRead);
  }
  time.resume();
  await time.suspend(session.commit());
  time.resume();
  const { elapsedMs, cpuMs, waitMs, idleMs, runnableMs, unnamedMs } = instance.waits.sessionTimes();
  const waited = instance.waits.snapshot().filter(({ waits }) => waits > 0);
  time.yield(undefined);
  expect(bytes).toBe(2 * 1024 ** 2);
  expect(cpuMs + waitMs + idleMs + runnableMs + unnamedMs).toBeCloseTo(elapsedMs, 3);
  expect(unnamedMs).toBe(0);
  expect(waited.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['payload source', 'payload write', 'payload read']),
  );
  // No wait is counted twice, once for the session and once for its chunks.
  expect(waited.reduce((sum, { totalMs }) => sum + totalMs, 0)).toBeLessThanOrEqual(elapsedMs);
  await session.close();
  await instance.close();
});

it('chunks are counted one by one if the program marks no time', async () => {
  const instance = await openTestInstance({ dir: makeFolder() });
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  async function* pieces() {
    for (let piece = 0; piece < 4; piece += 1) yield Buffer.alloc(256 * 1024, piece);
  }
  await session.enqueueStream('q', { payload: pieces() });
  await session.commit();
  const [message] = await session.dequeue('q');
  for await (const piece of message!.payloadStream()) expect(piece.length).toBeGreaterThan(0);
  const counted = (event: string) => instance.waits.snapshot().find((each) => each.event === event)!.waits;
  expect([counted('payload write'), counted('payload read'), counted('payload source')]).toEqual([4, 4, 0]);
  await instance.close();
});

it('a thread syncs for one session at a time: the sum of their log file syncs does not exceed the elapsed time', async () => {
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

it('a wait for messages is counted while it is under way', async () => {
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
