/** A redrive of messages that do not fit into one transaction together, and one whose queue cannot be read afterwards. */
import { join } from 'node:path';
import { type Instance, openInstance, QueueError } from '@shardlab/engine';
import { expect, it, onTestFinished } from 'vitest';
import { localStore, type QueueHost } from '../src/cluster/backend.ts';
import { redrive } from '../src/queues/redrive.ts';
import { makeDataDir } from './start-app.ts';

async function instanceWith(payloads: readonly Buffer[]): Promise<Instance> {
  const instance = await openInstance({ dir: join(makeDataDir(), 'cluster') });
  onTestFinished(() => instance.close());
  for (const name of ['from', 'to']) await instance.createQueue({ name, durability: 'memory' });
  const session = instance.openSession();
  for (const payload of payloads) {
    session.enqueue('from', { payload });
    await session.commit();
  }
  await session.close();
  return instance;
}

const move = (queues: QueueHost) => redrive({ queues, store: localStore }, 'from', { to: 'to' });

it('moves as many messages as fit into a transaction, and delivers no others', async () => {
  const payload = Buffer.alloc(1024 * 1024);
  const instance = await instanceWith(Array.from({ length: 33 }, () => payload));
  expect(await move(instance)).toEqual({ to: 'to', messages: 30, left: 3 });
  const { messages } = await instance.browse('from', { limit: 100 });
  expect(messages.map(({ state, deliveryCount }) => [state, deliveryCount])).toEqual(
    Array.from({ length: 3 }, () => ['ready', 0]),
  );
  expect(await move(instance)).toEqual({ to: 'to', messages: 3, left: 0 });
  expect(instance.queue('to').ready).toBe(33);
});

it('is reported as done if only the queue cannot be read afterwards', async () => {
  const instance = await instanceWith([Buffer.from('a'), Buffer.from('b')]);
  let reads = 0;
  const host: Pick<QueueHost, 'queue' | 'openSession'> = {
    queue(name) {
      reads += 1;
      if (reads > 2) throw new QueueError('INSTANCE_UNREACHABLE'); // the first two are of both queues, before the move
      return instance.queue(name);
    },
    openSession: () => instance.openSession(),
  };
  expect(await move(host as QueueHost)).toEqual({ to: 'to', messages: 2, left: 0 });
  expect(instance.queue('to').ready).toBe(2);
});
