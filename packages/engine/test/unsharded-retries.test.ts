/** Unsharded topics with a retry limit and a retry delay: attempts are counted for each subscriber, and messages delayed or moved. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkFolder, type Instance, type QueueKind, type QueueSpec } from '../src/index.ts';
import { makeFolder, openTestClient, openTestInstance, text } from './folder.ts';

const code = (value: string) => expect.objectContaining({ code: value });

async function publish(instance: Instance, ...payloads: string[]): Promise<string[]> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('news', { payload, properties: { p: 'v' } });
  const { ids } = await session.commit();
  await session.close();
  return ids;
}

const one = { subscriber: 'one' };

describe.each<QueueKind>(['unsharded', 'unsharded-grouped'])('a topic of kind %s', (kind) => {
  async function setUp(spec: Partial<QueueSpec>, dir = makeFolder()): Promise<Instance> {
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'news', kind, type: 'topic', ...spec });
    for (const name of ['one', 'two']) await instance.subscribe('news', { name });
    return instance;
  }

  it('moves a message of one subscriber to the exception queue once its attempts are used up', async () => {
    const instance = await setUp({ attemptsMax: 2 });
    const [id] = await publish(instance, 'poison', 'fine');
    const session = instance.openSession();
    for (const deliveryCount of [1, 2]) {
      const [poison] = await session.dequeue('news', one);
      expect(poison).toMatchObject({ deliveryCount });
      expect(poison!.payload.toString()).toBe('poison');
      await session.rollback();
    }
    expect(text(await session.dequeue('news', { ...one, max: 5, waitMs: 30_000 }))).toEqual(['fine']);
    await session.commit();
    const [moved] = await session.dequeue('news.exceptions', { waitMs: 30_000 });
    expect(moved).toMatchObject({
      id,
      properties: {
        p: 'v',
        'exception-queue-of': 'news',
        'exception-reason': 'delivered 2 times without being consumed',
      },
    });
    expect(moved!.payload.toString()).toBe('poison');
    await session.commit();
    expect(await session.dequeue('news.exceptions')).toEqual([]);
    expect(text(await session.dequeue('news', { subscriber: 'two', max: 5 }))).toEqual(['poison', 'fine']);
    await session.commit();
    expect(instance.queue('news')).toMatchObject({ enqueued: 2, consumed: 2, ready: 0, held: 0 });
    expect(instance.queue('news.exceptions')).toMatchObject({
      kind,
      type: 'queue',
      enqueued: 1,
      consumed: 1,
    });
  });

  it('counts an attempt when a hold expires or a session is closed, remote sessions included', async () => {
    const instance = await setUp({ attemptsMax: 3 });
    await publish(instance, 'poison');
    const client = await openTestClient(instance);
    const [first, second] = [instance.openSession(), client.openSession()];
    const [held] = await first.receive('news', { ...one, holdMs: 20 });
    expect(held).toMatchObject({ deliveryCount: 1 });
    expect(await second.dequeue('news', { ...one, waitMs: 30_000 })).toMatchObject([{ deliveryCount: 2 }]);
    await second.close();
    const [last] = await first.receive('news', { ...one, waitMs: 30_000 });
    expect(last).toMatchObject({ deliveryCount: 3 });
    await first.release('news', [last!.receipt]);
    expect(await first.dequeue('news.exceptions', { waitMs: 30_000 })).toHaveLength(1);
  });

  it('delivers a returned message after its delay, which doubles', async () => {
    const instance = await setUp({ retryDelayMs: 60 });
    await publish(instance, 'a');
    const session = instance.openSession();
    await session.dequeue('news', one);
    for (const [attempt, delayMs] of [
      [2, 60],
      [3, 120],
    ] as const) {
      const returnedAtMs = performance.now();
      await session.rollback();
      const again = await session.dequeue('news', { ...one, waitMs: 30_000 });
      expect(again).toMatchObject([{ deliveryCount: attempt }]);
      expect(performance.now() - returnedAtMs).toBeGreaterThanOrEqual(delayMs - 5);
    }
  });

  it('delivers other messages during a retry delay, and counts the delayed one as held', async () => {
    const instance = await setUp({ retryDelayMs: 60_000 });
    await publish(instance, 'late', 'next');
    const session = instance.openSession();
    expect(text(await session.dequeue('news', one))).toEqual(['late']);
    await session.rollback();
    expect(text(await session.dequeue('news', { ...one, max: 5 }))).toEqual(['next']);
    await session.commit();
    expect(await session.dequeue('news', one)).toEqual([]);
    const { messages } = await instance.browse('news', one);
    expect(messages).toMatchObject([{ state: 'held', deliveryCount: 1 }]);
    expect(text(await session.dequeue('news', { subscriber: 'two', max: 5 }))).toEqual(['late', 'next']);
  });

  it('moves no message for a subscriber that was removed meanwhile', async () => {
    const instance = await setUp({ attemptsMax: 1 });
    await publish(instance, 'a');
    const session = instance.openSession();
    expect(await session.dequeue('news', one)).toHaveLength(1);
    await instance.unsubscribe('news', 'one');
    await session.rollback();
    await session.dequeue('news', { subscriber: 'two' });
    await session.rollback();
    expect(await session.dequeue('news.exceptions', { waitMs: 30_000, max: 5 })).toHaveLength(1);
    await session.commit();
    expect(await session.dequeue('news.exceptions', { max: 5 })).toEqual([]);
    expect(instance.queue('news')).toMatchObject({ enqueued: 1, consumed: 1 });
  });

  it('keeps the attempt count over a restart, which ends a retry delay', async () => {
    const dir = makeFolder();
    const before = await setUp({ attemptsMax: 2, retryDelayMs: 60_000 }, dir);
    await publish(before, 'poison');
    const session = before.openSession();
    await session.dequeue('news', one);
    await session.rollback();
    expect(await session.dequeue('news', one)).toEqual([]);
    await before.close();
    const after = await openTestInstance({ dir });
    const next = after.openSession();
    expect(await next.dequeue('news', one)).toMatchObject([{ deliveryCount: 2 }]);
    await next.rollback();
    expect(await next.dequeue('news.exceptions', { waitMs: 30_000 })).toHaveLength(1);
    await next.commit();
    await after.close();
    expect(checkFolder(dir).faults).toEqual([]);
  });

  it('stops crashing its consumers once the attempts are used up', { timeout: 60_000 }, async () => {
    const dir = makeFolder();
    const before = await setUp({ attemptsMax: 2, attemptsCounted: 'on-delivery' }, dir);
    await publish(before, 'poison', 'fine');
    await before.close();
    const counts: number[] = [];
    for (;;) {
      const consumer = fork(new URL('./poisoned-consumer.ts', import.meta.url), [dir, 'news', 'one']);
      onTestFinished(() => void consumer.kill('SIGKILL'));
      const answers: { payload: string; deliveryCount: number }[] = [];
      consumer.on('message', (answer) => answers.push(answer as (typeof answers)[number]));
      await once(consumer, 'exit');
      const answer = answers.at(-1)!;
      if (answer.payload === 'fine') break;
      counts.push(answer.deliveryCount);
    }
    expect(counts).toEqual([1, 2]);
    const after = await openTestInstance({ dir });
    const [moved] = await after.openSession().dequeue('news.exceptions', { waitMs: 30_000 });
    expect(moved!.payload.toString()).toBe('poison');
    expect(moved!.properties?.['exception-reason']).toBe('delivered 2 times without being consumed');
  });

  it('delivers the messages behind those whose attempts are used up, to a waiting call too', async () => {
    const dir = makeFolder();
    const instance = await setUp({ attemptsMax: 1, attemptsCounted: 'on-delivery' }, dir);
    await publish(instance, 'poison 1', 'poison 2');
    const session = instance.openSession();
    await session.dequeue('news', { ...one, max: 2 });
    await instance.close(); // The attempt is counted, and the messages are ready again.
    const after = await openTestInstance({ dir });
    const [waiting, other] = [after.openSession(), after.openSession()];
    const served = waiting.dequeue('news', { ...one, waitMs: 30_000 });
    other.enqueue('news', { payload: 'fine' });
    await other.commit();
    expect(text(await served)).toEqual(['fine']);
    await waiting.commit();
    const exceptions: string[] = [];
    while (exceptions.length < 2)
      exceptions.push(...text(await other.dequeue('news.exceptions', { waitMs: 30_000, max: 2 })));
    expect(exceptions.sort()).toEqual(['poison 1', 'poison 2']);
  });

  it('needs its exception queue, which is dropped with the topic and not by itself', async () => {
    const instance = await setUp({ attemptsMax: 1 });
    await expect(instance.dropQueue('news.exceptions')).rejects.toThrow(code('QUEUE_IN_USE'));
    await instance.dropQueue('news');
    expect(instance.queues()).toEqual([]);
  });
});
