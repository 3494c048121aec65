/** Rows of an unsharded topic that a stale or damaged page hides, brings back or changes are reported, and never taken as valid. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { checkFolder, openInstance, QueueError, repairFolder } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { overwriteText } from './damage.ts';

const corrupt = expect.objectContaining({ code: 'STORAGE_CORRUPT' });

/** The folder of a closed instance, with ten messages for two subscribers. */
async function closedWith10(): Promise<{ dir: string; path: string }> {
  const dir = makeFolder();
  const instance = await openInstance({ dir });
  await instance.createQueue({ name: 'news', kind: 'unsharded', type: 'topic' });
  await instance.createQueue({ name: 'orders' });
  for (const name of ['one', 'two']) await instance.subscribe('news', { name });
  const session = instance.openSession();
  for (let i = 0; i < 10; i += 1) session.enqueue('news', { payload: `m${i};`.padEnd(200, '.') });
  await session.commit();
  await instance.close();
  return { dir, path: join(dir, 'unsharded.db') };
}

/** Changes rows as a stale page does: no trigger runs, and no total changes. */
function edit(path: string, sql: string): void {
  const file = new Database(path);
  const triggers = file.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) file.exec(`DROP TRIGGER ${name}`);
  file.exec(sql);
  for (const trigger of triggers) file.exec(trigger.sql);
  file.close();
}

async function readOrCode(dir: string, subscriber = 'one'): Promise<number | string> {
  const instance = await openInstance({ dir });
  try {
    const session = instance.openSession();
    return (await session.dequeue('news', { subscriber, max: 1_000 })).length;
  } catch (error) {
    if (error instanceof QueueError) return error.code;
    throw error;
  } finally {
    await instance.close();
  }
}

/** Effects on rows of a stale page, which SQLite finds valid although a later version was written. */
describe.each([
  ['hides a row for a subscriber', 'DELETE FROM recipient WHERE subscriber = 1 AND id = 3'],
  [
    'brings back a consumed row in place of another row',
    'UPDATE recipient SET crc = 77 WHERE subscriber = 1 AND id = 3',
  ],
  ['hides a subscriber', 'DELETE FROM topic_subscriber WHERE subscriber = 1'],
  ['loses the counters of a subscriber', 'UPDATE topic_subscriber SET enqueued = 11 WHERE subscriber = 1'],
  ['hides a message', 'DELETE FROM message WHERE id = 4'],
  ['has an old number of recipients', 'UPDATE message_recipients SET unconsumed = 1 WHERE id = 5'],
])('a page of the unsharded file that %s', (_what, sql) => {
  it('is found when the file is opened, and the instance serves its other queues', async () => {
    const { dir, path } = await closedWith10();
    edit(path, sql);
    expect(checkFolder(dir).faults).not.toEqual([]);
    expect(await readOrCode(dir)).toBe('STORAGE_CORRUPT');
    const instance = await openTestInstance({ dir });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'a' });
    await session.commit();
    expect(() => session.enqueue('news', { payload: 'b' })).not.toThrow();
    await expect(session.commit()).rejects.toThrow(corrupt);
    expect(() => instance.subscribers('news')).toThrow(corrupt);
    await expect(instance.subscribe('news', { name: 'three' })).rejects.toThrow(corrupt);
    await instance.close();

    repairFolder(dir);
    expect(checkFolder(dir).faults).toEqual([]);
    expect(await readOrCode(dir)).toSatisfy(Number.isInteger);
    expect(await readOrCode(dir, 'two')).toBeGreaterThanOrEqual(9);
  });
});

it('a dequeue for a subscriber whose messages are hidden is refused instead of finding none or waiting', async () => {
  const { dir, path } = await closedWith10();
  const instance = await openTestInstance({ dir });
  const session = instance.openSession();
  expect(await session.dequeue('news', { subscriber: 'one', max: 4 })).toHaveLength(4);
  await session.commit();
  edit(path, 'DELETE FROM recipient WHERE subscriber = 1');
  await expect(session.dequeue('news', { subscriber: 'one' })).rejects.toThrow(corrupt);
  await expect(session.dequeue('news', { subscriber: 'one', waitMs: 60_000 })).rejects.toThrow(corrupt);
  await session.rollback();
  expect(await session.dequeue('news', { subscriber: 'two', max: 99 })).toHaveLength(10);
});

it('a message for a subscriber whose name is damaged is refused', async () => {
  const { dir, path } = await closedWith10();
  const instance = await openTestInstance({ dir });
  const session = instance.openSession();
  edit(path, "UPDATE topic_subscriber SET name = 'ond' WHERE name = 'one'");
  session.enqueue('news', { payload: 'a', recipients: ['one', 'two'] });
  await expect(session.commit()).rejects.toThrow(corrupt);
  expect(await session.dequeue('news', { subscriber: 'two', max: 99 })).toHaveLength(10);
});

it('a message whose payload changed is delivered to no subscriber; messages before it are', async () => {
  const { dir, path } = await closedWith10();
  overwriteText(path, 'm7;');
  const instance = await openTestInstance({ dir });
  const session = instance.openSession();
  for (const subscriber of ['one', 'two']) {
    expect(text(await session.dequeue('news', { subscriber, max: 99 }))).toHaveLength(7);
    await session.commit();
    await expect(session.dequeue('news', { subscriber })).rejects.toThrow(corrupt);
    await session.rollback();
  }
});
