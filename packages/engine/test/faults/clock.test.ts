/** When the wall clock jumps, as after a suspend or a manual change, holds, delays and waits keep their length. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openInstance } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';

const hour = 60 * 60_000;

function jump(ms: number): void {
  vi.spyOn(nodePorts.clock, 'epochMs').mockImplementation(() => Date.now() + ms);
  onTestFinished(() => void vi.restoreAllMocks());
}

describe.each([
  ['forward', 25 * hour],
  ['back', -25 * hour],
])('the wall clock jumps %s by a day', (_way, ms) => {
  it.each(['sharded', 'unsharded', 'unsharded-grouped'] as const)(
    'a hold of a message of a %s queue keeps its length',
    async (kind) => {
      const instance = await openTestInstance();
      await instance.createQueue({ name: 'q', kind });
      const session = instance.openSession();
      session.enqueue('q', { payload: 'long' });
      session.enqueue('q', { payload: 'short' });
      await session.commit();
      const [long] = await session.receive('q', { holdMs: hour });
      const [short] = await session.receive('q', { holdMs: 50 });
      expect(text([long!, short!])).toEqual(['long', 'short']);
      jump(ms);
      // The short hold expires when its time is over, and the long one can still be acknowledged.
      expect(text(await session.dequeue('q', { waitMs: 30_000 }))).toEqual(['short']);
      await session.commit();
      session.acknowledge('q', [long!.receipt]);
      await session.commit();
      expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0, consumed: 2 });
    },
  );

  it('a delay keeps its length, and a browse shows its end in the time of the new clock', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'long', delayMs: 20 * hour });
    session.enqueue('q', { payload: 'short', delayMs: 50 });
    await session.commit();
    jump(ms);
    expect(text(await session.dequeue('q', { waitMs: 30_000, max: 2 }))).toEqual(['short']);
    await session.commit();
    const [long] = (await instance.browse('q')).messages;
    expect(long).toMatchObject({ state: 'delayed' });
    expect(long!.untilMs! - nodePorts.clock.epochMs()).toBeGreaterThan(19 * hour);
    expect(long!.untilMs! - nodePorts.clock.epochMs()).toBeLessThanOrEqual(20 * hour);
  });

  it('while messages are delayed, and the instance is closed and opened again: nothing changes', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'q' });
    const session = before.openSession();
    session.enqueue('q', { payload: 'long', delayMs: 20 * hour });
    session.enqueue('q', { payload: 'short', delayMs: 1_000 });
    await session.commit();
    jump(ms);
    await before.close();
    const after = await openTestInstance({ dir });
    expect(text(await after.openSession().dequeue('q', { waitMs: 30_000, max: 2 }))).toEqual(['short']);
    const [long] = (await after.browse('q', { limit: 5 })).messages.filter(
      ({ state }) => state === 'delayed',
    );
    expect(long!.untilMs! - nodePorts.clock.epochMs()).toBeGreaterThan(19 * hour);
    expect(long!.untilMs! - nodePorts.clock.epochMs()).toBeLessThanOrEqual(20 * hour);
  });

  it('a wait ends when its time is over, or with a message', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    const startedAt = performance.now();
    const waiting = session.dequeue('q', { waitMs: 80 });
    jump(ms);
    expect(await waiting).toEqual([]);
    expect(performance.now() - startedAt).toBeGreaterThan(70);
    const next = session.dequeue('q', { waitMs: hour });
    const other = instance.openSession();
    other.enqueue('q', { payload: 'a' });
    await other.commit();
    expect(text(await next)).toEqual(['a']);
    await session.commit();
  });

  it('the order of commits is kept', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    for (const payload of ['a', 'b']) session.enqueue('q', { payload });
    await session.commit();
    jump(ms);
    session.enqueue('q', { payload: 'c' });
    await session.commit();
    expect(text(await session.dequeue('q', { max: 9 }))).toEqual(['a', 'b', 'c']);
  });
});

it('a clock that is set back while the instance is closed makes no delay longer than the pause', async () => {
  const dir = makeFolder();
  const before = await openInstance({ dir });
  await before.createQueue({ name: 'q' });
  const session = before.openSession();
  session.enqueue('q', { payload: 'a', delayMs: 500 });
  await session.commit();
  await before.close();
  jump(-hour);
  const after = await openTestInstance({ dir });
  expect(text(await after.openSession().dequeue('q', { waitMs: 30_000 }))).toEqual(['a']);
});
