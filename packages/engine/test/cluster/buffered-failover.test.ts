/** A buffered queue in a cluster: the buffered messages of a killed process are lost, their number is reported, and nothing else is lost. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type ClusterEvent, connectCluster, startCluster } from '../../src/index.ts';
import { makeFolder, text } from '../folder.ts';

/** The depth in the last sample that the instance has written to its file. */
function sampledDepth(dir: string, instance: number, queue: string): number | undefined {
  const file = new Database(join(dir, `instance-${instance}.db`), { readonly: true });
  try {
    const row = file.prepare('SELECT depth FROM shardlab_queues WHERE queue = ?').get(queue);
    return (row as { depth: number } | undefined)?.depth;
  } finally {
    file.close();
  }
}

it('loses the messages buffered in a killed process, reports how many, and continues', {
  timeout: 60_000,
}, async () => {
  const dir = makeFolder();
  const events: ClusterEvent[] = [];
  const cluster = await startCluster({
    dir,
    instances: 2,
    sampleIntervalMs: 20,
    onEvent: (event) => events.push(event),
  });
  onTestFinished(() => cluster.close());
  const client = connectCluster({ dir });
  onTestFinished(() => client.close());
  await client.createQueue({ name: 'b', durability: 'memory', visibility: 'immediate' });
  await client.createQueue({ name: 'stored' });
  const session = client.openSession();
  session.enqueue('stored', { payload: 'stays' });
  await session.commit();
  await session.enqueueNow('b', { payload: '1' }, { payload: '2' }, { payload: '3' });
  expect(text(await client.openSession().dequeueNow('b', { waitMs: 20_000 }))).toEqual(['1']);
  const holder = (await client.queueStats('b')).find(({ total }) => total.depth === 2)!.instance;
  await vi.waitFor(() => expect(sampledDepth(dir, holder, 'b')).toBe(2), { timeout: 20_000 });

  cluster.kill(holder);
  const lost = { type: 'messages:lost', instance: holder, message: '2 of b' };
  await vi.waitFor(() => expect(events).toContainEqual(expect.objectContaining(lost)), { timeout: 30_000 });
  await vi.waitFor(async () => expect(await client.queue('b')).toMatchObject({ lost: 2, ready: 0 }), {
    timeout: 20_000,
  });
  await vi.waitFor(() => session.enqueueNow('b', { payload: '4' }), { timeout: 20_000 });
  expect(text(await session.dequeueNow('b', { waitMs: 20_000 }))).toEqual(['4']);
  expect(text(await session.dequeue('stored', { waitMs: 20_000 }))).toEqual(['stays']);
  await session.commit();
});
