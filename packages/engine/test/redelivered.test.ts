/** After a restart a message that a consumer may have seen is delivered as redelivered, never as new. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type Instance, type Message, openInstance, type QueueSpec } from '../src/index.ts';
import { makeFolder, openTestInstance } from './folder.ts';

const counted = (messages: readonly Message[]) =>
  messages.map(({ payload, deliveryCount }) => `${payload.toString()} ${deliveryCount}`);

async function withMessages(spec: Partial<QueueSpec>, payloads: readonly string[]) {
  const dir = makeFolder();
  const instance = await openInstance({ dir });
  await instance.createQueue({ name: 'orders', ...spec });
  if (spec.type === 'topic') await instance.subscribe('orders', { name: 'one' });
  await put(instance, payloads);
  return { dir, instance };
}

async function put(instance: Instance, payloads: readonly string[]): Promise<void> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('orders', { payload });
  await session.commit();
  await session.close();
}

/** Kills a consumer that holds the first messages of the queue. Returns their payloads. */
async function killHoldingConsumer(dir: string, ...args: string[]): Promise<string[]> {
  const consumer = fork(new URL('./holding-consumer.ts', import.meta.url), [dir, 'orders', ...args]);
  const [seen] = (await once(consumer, 'message')) as [string[]];
  consumer.kill('SIGKILL');
  await once(consumer, 'exit');
  return seen;
}

describe('a message that was held when its instance was killed', () => {
  it.each<[string, Partial<QueueSpec>, string[]]>([
    ['a queue', {}, []],
    ['a queue that does not wait for the disk', { durability: 'relaxed' }, []],
    ['a topic', { type: 'topic' }, ['one']],
    ['an unsharded queue', { kind: 'unsharded' }, []],
    ['a grouped unsharded queue', { kind: 'unsharded-grouped' }, []],
    ['a queue with counted deliveries', { attemptsCounted: 'on-delivery' }, []],
  ])('comes back as redelivered: %s', async (_what, spec, args) => {
    const { dir, instance } = await withMessages(spec, ['a', 'b', 'c']);
    await instance.close();
    const options = args[0] === undefined ? {} : { subscriber: args[0] };
    expect(await killHoldingConsumer(dir, ...args)).toEqual(['a 1', 'b 1', 'c 1']);
    const after = await openTestInstance({ dir });
    await put(after, ['new']);
    const session = after.openSession();
    const messages: Message[] = [];
    while (messages.length < 4)
      messages.push(...(await session.dequeue('orders', { max: 4, waitMs: 30_000, ...options })));
    expect(counted(messages)).toEqual(['a 2', 'b 2', 'c 2', 'new 1']);
  });

  it('is still redelivered after a further close without a delivery, and is shown so when browsed', async () => {
    const { dir, instance } = await withMessages({}, ['a', 'b', 'c', 'd']);
    await instance.close();
    await killHoldingConsumer(dir);
    for (let i = 0; i < 2; i += 1) await (await openInstance({ dir })).close();
    const after = await openTestInstance({ dir });
    await put(after, ['new']);
    const { messages: browsed } = await after.browse('orders');
    expect(browsed.map(({ state, deliveryCount }) => `${state} ${deliveryCount}`)).toEqual([
      ...Array.from({ length: 4 }, () => 'ready 1'),
      'ready 0',
    ]);
    // After a kill it is not known which messages were delivered, so "d" counts as delivered too.
    expect(counted(await after.openSession().dequeue('orders', { max: 4 }))).toEqual([
      'a 2',
      'b 2',
      'c 2',
      'd 2',
    ]);
  });

  it('moves to the exception queue only after attempts that were counted', async () => {
    const { dir, instance } = await withMessages({ attemptsMax: 1, attemptsCounted: 'on-delivery' }, [
      'a',
      'b',
      'c',
      'd',
    ]);
    await instance.close();
    await killHoldingConsumer(dir);
    const after = await openTestInstance({ dir });
    expect(counted(await after.openSession().dequeue('orders', { max: 9, waitMs: 30_000 }))).toEqual(['d 1']);
  });
});

describe('a message that was held when its instance was closed', () => {
  it('is delivered as redelivered, and the messages behind it as new', async () => {
    const { dir, instance } = await withMessages({}, ['a', 'b', 'c', 'd']);
    const session = instance.openSession();
    expect(counted(await session.receive('orders', { max: 1 }))).toEqual(['a 1']);
    const [b] = await session.receive('orders', { max: 1 });
    session.acknowledge('orders', [b!.receipt]);
    await session.commit();
    expect(counted(await session.receive('orders', { max: 1 }))).toEqual(['c 1']);
    await instance.close();
    const after = await openTestInstance({ dir });
    const messages: Message[] = [];
    const next = after.openSession();
    while (messages.length < 3) messages.push(...(await next.dequeue('orders', { max: 3, waitMs: 30_000 })));
    expect(counted(messages)).toEqual(['a 2', 'c 2', 'd 1']);
  });
});
