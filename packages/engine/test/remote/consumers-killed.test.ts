/**
 * Transactions of a few messages each move messages from one queue to another, by a consumer with a pipeline or a session that
 * prefetches, while the process of the instance or of the client is killed by SIGKILL again and again. Each message arrives once and in
 * order.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import {
  type ClientSession,
  connect,
  type Instance,
  type Message,
  QueueError,
  type RemoteInstance,
} from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { isTorture } from '../random.ts';
import { serve } from './serving.ts';

const messages = 3_000;
const kills = isTorture ? 8 : 2;

/** Codes with which a transaction, or the wait for its messages, fails if its connection is lost. */
const lossCodes = ['TX_NOT_COMMITTED', 'INSTANCE_UNREACHABLE'];

async function startHost(dir: string): Promise<ChildProcess> {
  const host = fork(new URL('./host.ts', import.meta.url), [dir, 'sharded'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => {
    host.kill('SIGKILL');
  });
  await once(host, 'message');
  return host;
}

/** Resolves with the next messages of a transaction, some of which were sent ahead. */
type Take = () => Promise<Message[]>;

const takers: Record<string, (client: RemoteInstance) => Promise<{ session: ClientSession; take: Take }>> = {
  'a consumer': async (client) => {
    const session = client.openSession();
    const options = { ackMode: 'transacted', prefetch: true, messagesMaximum: 100 } as const;
    const consumer = await session.openConsumer('in', options);
    return { session, take: () => consumer.receiveBatch({ max: 7, waitMs: 100 }) };
  },
  'a session that prefetches': async (client) => {
    const session = client.openSession({ prefetch: 100 });
    return { session, take: () => session.dequeue('in', { max: 7, waitMs: 100 }) };
  },
};

/** Moves messages until all of `in` is consumed. `onMoved` gets the number of messages of each acknowledged commit. */
async function move(
  { session, take }: { session: ClientSession; take: Take },
  onMoved: (count: number) => void,
  isDone: () => boolean,
): Promise<void> {
  while (!isDone()) {
    try {
      const batch = await take();
      for (const message of batch) session.enqueue('out', { payload: message.payload });
      await session.commit();
      onMoved(batch.length);
    } catch (error) {
      if (!(error instanceof QueueError) || !lossCodes.includes(error.code)) throw error;
    }
  }
}

it.each(Object.keys(takers))(
  'messages moved by %s arrive once and in order',
  { timeout: 120_000 },
  async (taker) => {
    const dir = makeFolder();
    let host = await startHost(dir);
    const client = await connect({ dir, connectMs: 60_000 });
    onTestFinished(() => client.close());
    await client.createQueue({ name: 'in' });
    await client.createQueue({ name: 'out' });
    const producer = client.openSession();
    for (let i = 0; i < messages; i += 1) producer.enqueue('in', { payload: String(i) });
    await producer.commit();

    let moved = 0;
    let change = Promise.withResolvers<void>();
    const onMoved = (count: number) => {
      moved += count;
      change.resolve();
      change = Promise.withResolvers();
    };
    const work = move(await takers[taker]!(client), onMoved, () => moved >= messages);
    for (let kill = 1; kill <= kills; kill += 1) {
      while (moved < (kill * messages) / (kills + 1)) await change.promise;
      const ended = once(host, 'exit');
      host.kill('SIGKILL');
      await ended;
      host = await startHost(dir);
    }
    await work;
    await client.close();
    const ended = once(host, 'exit');
    host.kill('SIGKILL');
    await ended;

    await expectMoved(await openTestInstance({ dir }));
  },
);

async function expectMoved(instance: Instance): Promise<void> {
  expect(instance.queue('in')).toMatchObject({ ready: 0, held: 0, consumed: messages });
  const session = instance.openSession();
  const out: string[] = [];
  while (out.length < messages) {
    const batch = await session.dequeue('out', { max: 1_000, waitMs: 10_000 });
    if (batch.length === 0) break;
    out.push(...text(batch));
  }
  expect(out).toEqual(Array.from({ length: messages }, (_, i) => String(i)));
  expect(instance.queue('out').ready).toBe(0);
}

it('messages moved by clients that are killed arrive once and in order', { timeout: 120_000 }, async () => {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'in' });
  await instance.createQueue({ name: 'out' });
  const producer = instance.openSession();
  for (let i = 0; i < messages; i += 1) producer.enqueue('in', { payload: String(i) });
  await producer.commit();
  const { path } = await serve(instance);
  for (let kill = 1; kill <= kills + 1; kill += 1) {
    const target = kill > kills ? messages : (kill * messages) / (kills + 1);
    const mover = fork(new URL('./prefetching-client.ts', import.meta.url), [path], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    onTestFinished(() => {
      mover.kill('SIGKILL');
    });
    const ended = once(mover, 'exit');
    for await (const _ of on(mover, 'message')) if (instance.queue('in').consumed >= target) break;
    mover.kill('SIGKILL');
    await ended;
    await expect.poll(() => instance.queue('in').held).toBe(0);
  }
  await expectMoved(instance);
});
