/**
 * The process that serves an instance is killed by SIGKILL while consumers move messages from one queue to another, each with a
 * pipeline and a transaction for a few of them. Each message arrives once, in order, however often that happens.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { type ClientSession, connect, QueueError } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';

const messages = 3_000;
const kills = 4;

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

/** Moves what there is until all of `in` is consumed. `onMoved` is told how many were moved with a commit that was acknowledged. */
async function move(
  session: ClientSession,
  onMoved: (count: number) => void,
  isDone: () => boolean,
): Promise<void> {
  const consumer = await session.openConsumer('in', {
    ackMode: 'transacted',
    prefetch: true,
    messagesMaximum: 100,
  });
  while (!isDone()) {
    try {
      const batch = await consumer.receiveBatch({ max: 7, waitMs: 100 });
      for (const message of batch) session.enqueue('out', { payload: message.payload });
      await session.commit();
      onMoved(batch.length);
    } catch (error) {
      if (!(error instanceof QueueError) || error.code !== 'TX_NOT_COMMITTED') throw error;
    }
  }
}

it('messages moved by consumers arrive once and in order', { timeout: 120_000 }, async () => {
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
  const work = move(client.openSession(), onMoved, () => moved >= messages);
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

  const instance = await openTestInstance({ dir });
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
});
