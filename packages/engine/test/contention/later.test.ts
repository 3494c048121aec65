/** Messages with a delay: waiting sessions are woken when a message is ready, and not before. */
import { describe, expect, it } from 'vitest';
import type { QueueSpec } from '../../src/index.ts';
import { readyOf, SessionThread, shareTest, shareTopic, statisticsOf, whenIn } from './shared.ts';

const code = (value: string) => expect.objectContaining({ code: value });
/** Long enough for the other calls of a test, even on a busy machine. */
const delayMs = 1_500;
const now = { visibility: 'immediate' } as const;

const openTwo = async (spec: Partial<QueueSpec>, names = ['a']) => {
  const { shared, instance } = await shareTopic(names, {}, { durability: 'relaxed', ...spec });
  const [enqueuer, dequeuer] = await Promise.all([SessionThread.open(shared), SessionThread.open(shared)]);
  return { shared, instance, enqueuer, dequeuer };
};

describe.each([
  ['a sharded topic', {}],
  ['an unsharded topic', { kind: 'unsharded' }],
] as const)('a retry delay of %s', (_, spec) => {
  it('hides the message from listening sessions until it is over', async () => {
    const { shared, enqueuer, dequeuer } = await openTwo({ ...spec, retryDelayMs: delayMs, attemptsMax: 5 });
    await enqueuer.enqueue('one', 'a');
    expect(await dequeuer.dequeue('a', { visibility: 'commit' })).toBe('one');
    expect(readyOf(shared)).toEqual({ a: 1 });
    await dequeuer.rollback();
    expect(readyOf(shared)).toEqual({ a: 0 });
    await expect(dequeuer.listen(['a'], 0)).rejects.toThrow(code('LISTEN_TIMEOUT'));
    expect(await dequeuer.listen(['a'], 60_000)).toBe('a');
    expect(await dequeuer.dequeue('a')).toBe('one');
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ wakeUps: 1, falseWakeUps: 0, dequeuedNothing: 0 });
    expect(readyOf(shared)).toEqual({ a: 0 });
  });

  it('wakes a dequeue by name once, when it is over', async () => {
    const { shared, enqueuer, dequeuer } = await openTwo({ ...spec, retryDelayMs: delayMs });
    await enqueuer.enqueue('one', 'a');
    await enqueuer.dequeue('a', { visibility: 'commit' });
    const waiting = dequeuer.dequeue('a', { waitMs: 60_000 });
    await whenIn(shared, dequeuer, 'waiting');
    await enqueuer.rollback();
    expect(await waiting).toBe('one');
    expect(statisticsOf(shared, dequeuer)).toMatchObject({ messageWakeUps: 1, polls: 0 });
  });
});

describe('a delayed message', () => {
  it('wakes waiting sessions when it is due, not when it is enqueued', async () => {
    const { shared, enqueuer, dequeuer } = await openTwo({}, ['a', 'b']);
    const other = await SessionThread.open(shared);
    const waiting = other.dequeue('b', { waitMs: 60_000 });
    await whenIn(shared, other, 'waiting');
    await enqueuer.enqueue('for a', 'a', now, { delayMs });
    await enqueuer.enqueue('for b', 'b', { visibility: 'commit' }, { delayMs });
    await enqueuer.commit();
    expect(readyOf(shared)).toEqual({ a: 0, b: 0 });
    await expect(dequeuer.listen(['a', 'b'], 0)).rejects.toThrow(code('LISTEN_TIMEOUT'));
    expect(await dequeuer.listen(['a'], 60_000)).toBe('a');
    expect(await dequeuer.dequeue('a')).toBe('for a');
    expect(await waiting).toBe('for b');
    expect(statisticsOf(shared, other)).toMatchObject({ messageWakeUps: 1, polls: 0 });
    expect(readyOf(shared)).toEqual({ a: 0, b: 0 });
  });

  it('keeps its temporary subscriber from being replaced', async () => {
    const { shared } = await shareTopic([], { subscribersMax: 2 }, { durability: 'relaxed' });
    const session = await SessionThread.open(shared);
    await session.enqueue('later', 'old', now, { delayMs });
    for (const name of ['x', 'y']) {
      await session.enqueue(name, name);
      expect(await session.dequeue(name)).toBe(name);
    }
    expect(Object.keys(readyOf(shared)).toSorted()).toEqual(['old', 'y']);
    expect(await session.dequeue('old', { waitMs: 60_000 })).toBe('later');
    for (const name of ['v', 'w']) {
      await session.enqueue(name, name);
      expect(await session.dequeue(name)).toBe(name);
    }
    expect(Object.keys(readyOf(shared)).toSorted()).toEqual(['v', 'w']);
  });

  it('is not counted as ready if the topic is shared before it is due', async () => {
    const { shared, instance, enqueuer } = await openTwo({});
    await enqueuer.enqueue('now', 'a');
    await enqueuer.enqueue('later', 'a', now, { delayMs });
    const again = await shareTest(instance);
    expect(readyOf(again)).toEqual({ a: 1 });
    await expect.poll(() => readyOf(again)).toEqual({ a: 2 });
    expect(readyOf(shared)).toEqual({ a: 2 });
  });
});
