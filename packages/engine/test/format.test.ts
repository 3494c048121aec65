/** Files that older versions wrote are brought up to date at their opening, with all that they hold. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { convertQueue } from '../src/index.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { readView } from './monitoring/read-views.ts';

/** Builds the files of a fixture in a folder of its own. */
function restore(format: string): string {
  const dir = makeFolder();
  for (const name of ['catalog', 'instance-1', 'unsharded']) {
    const file = new Database(join(dir, `${name}.db`));
    file.exec(readFileSync(new URL(`fixtures/${format}/${name}.sql`, import.meta.url), 'utf8'));
    file.close();
  }
  return dir;
}

describe.each(['format-1', 'format-2'])('files of %s', (format) => {
  it.each(['orders', 'jobs'])('keep the messages of the queue %s, and serve them', async (queue) => {
    const instance = await openTestInstance({ dir: restore(format) });
    expect(instance.queue(queue)).toMatchObject({ enqueued: 3, consumed: 1, ready: 2 });
    const session = instance.openSession();
    session.enqueue(queue, { payload: 'fourth' });
    await session.commit();
    const messages = await session.dequeue(queue, { max: 10, waitMs: 10_000 });
    expect(text(messages)).toEqual(expect.arrayContaining(['second', 'third', 'fourth']));
    await session.commit();
    expect(instance.queue(queue)).toMatchObject({ enqueued: 4, consumed: 4, ready: 0 });
  });

  it('let messages move from now on, of queues that can', async () => {
    const instance = await openTestInstance({ dir: restore(format) });
    const forwards = instance.queues().filter(({ forwarding }) => forwarding);
    expect(forwards.map(({ name }) => name)).toEqual(['orders']);
  });

  it('show in the views what they hold', async () => {
    const dir = restore(format);
    const instance = await openTestInstance({ dir });
    instance.queue('jobs');
    await instance.close();
    const figures = { depth: 2, ready: 2, held: 0, enqueued: 3, consumed: 1, drain_state: 'standing' };
    const orders = readView(dir, 'shardlab_queues').filter(({ queue }) => queue === 'orders');
    expect(orders).toMatchObject([figures]);
    expect(readView(dir, 'shardlab_queues', 'unsharded.db')).toMatchObject([figures]);
  });

  it('have an unsharded queue that can be converted', async () => {
    const dir = restore(format);
    const instance = await openTestInstance({ dir });
    const session = instance.openSession();
    await session.dequeue('jobs', { max: 10, waitMs: 10_000 });
    await session.commit();
    expect((await convertQueue({ dir, queue: 'jobs' })).stage).toBe('done');
    instance.queues();
    expect(instance.queue('jobs')).toMatchObject({ kind: 'sharded', enqueueEnabled: true });
  });

  it('have queues without an index, and can have new ones with one', async () => {
    const instance = await openTestInstance({ dir: restore(format) });
    expect(instance.queues().map(({ correlationIndex }) => correlationIndex)).not.toContain(true);
    await instance.createQueue({ name: 'indexed', correlationIndex: true });
    const session = instance.openSession();
    for (const name of ['orders', 'indexed']) session.enqueue(name, { payload: 'x', correlationId: 'c' });
    await session.commit();
    for (const name of ['orders', 'indexed']) {
      expect(text((await instance.browse(name, { correlationId: 'c' })).messages)).toEqual(['x']);
    }
  });

  it('take streamed payloads from now on', async () => {
    const instance = await openTestInstance({ dir: restore(format) });
    const session = instance.openSession();
    await session.enqueueStream('orders', { payload: Readable.from([Buffer.alloc(1024 * 1024)]) });
    await session.commit();
    const messages = await session.dequeue('orders', { max: 10, waitMs: 10_000 });
    expect(messages.map(({ payloadBytes }) => payloadBytes)).toContain(1024 * 1024);
  });
});

it('files of format-1 keep who held a message of an unsharded queue, and how often it was handed out', async () => {
  const dir = restore('format-1');
  const file = new Database(join(dir, 'unsharded.db'));
  file.exec(`INSERT INTO holder VALUES (7, 999999999, 'long gone');
      UPDATE message SET held_by = 7, delivery_count = 3 WHERE id = 2`);
  file.close();
  const instance = await openTestInstance({ dir });
  const session = instance.openSession();
  session.enqueue('jobs', { payload: 'fourth' });
  expect((await session.commit()).ids).toEqual(['4']);
  const messages = await session.dequeue('jobs', { max: 10, waitMs: 10_000 });
  expect(messages.map(({ id, deliveryCount }) => [id, deliveryCount])).toEqual([
    ['2', 4],
    ['3', 1],
    ['4', 1],
  ]);
});
