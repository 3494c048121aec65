/** If the file of the unsharded queues is damaged, calls on them fail with an error that says so, and the sharded queues continue. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { QueueKind } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { assembleInstance } from '../../src/runtime/assemble-instance.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { openFilesIn } from '../support/open-files.ts';
import { overwrite, pageBytes } from './damage.ts';

const corrupt = expect.objectContaining({ code: 'STORAGE_CORRUPT' });

async function makeQueues(kind: QueueKind): Promise<{ dir: string; path: string }> {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir });
  await instance.createQueue({ name: 'jobs', kind });
  await instance.createQueue({ name: 'sharded' });
  const session = instance.openSession();
  for (let i = 0; i < 200; i += 1) session.enqueue('jobs', { payload: String(i).padEnd(500, '.') });
  await session.commit();
  await instance.close();
  return { dir, path: join(dir, 'unsharded.db') };
}

const replaceByText = (path: string) =>
  writeFileSync(path, 'no database, and long enough to tell'.repeat(999));

describe.each([
  ['no database at all', 'unsharded', replaceByText],
  ['no database at all', 'unsharded-grouped', replaceByText],
  ['without its tables', 'unsharded', (path: string) => overwrite(path, pageBytes, 12 * pageBytes)],
] as const)('an unsharded file that is %s, of %s queues', (_how, kind, damage) => {
  it('stops the queues of its file and no others', async () => {
    const { dir, path } = await makeQueues(kind);
    damage(path);
    const instance = await openTestInstance({ dir });
    const session = instance.openSession();
    await expect(session.dequeue('jobs')).rejects.toThrow(corrupt);
    await session.rollback();
    session.enqueue('sharded', { payload: 'a' });
    await session.commit();
    expect(text(await session.dequeue('sharded'))).toEqual(['a']);
    await session.commit();
    expect(() => instance.queue('jobs')).toThrow(corrupt);
    expect(instance.queues().map(({ name, fault }) => [name, fault?.code])).toEqual([
      ['jobs', 'STORAGE_CORRUPT'],
      ['sharded', undefined],
    ]);
    expect(instance.stats().shards.map(({ queue }) => queue)).toEqual(['sharded']);
  });
});

it('an instance that cannot open the file under a lease is not opened, and leaves no file open', async () => {
  const { dir, path } = await makeQueues('unsharded');
  replaceByText(path);
  const lease = { isHeld: () => true, assertHeld: () => undefined };
  const opening = assembleInstance(1, { dir }, { lease, onClosed: () => undefined }, nodePorts);
  await expect(opening).rejects.toThrow(corrupt);
  expect(openFilesIn(dir)).toEqual([]);
});

it('a file that cannot be opened is closed after each attempt, and gets no row of this process', async () => {
  const { dir, path } = await makeQueues('unsharded');
  const countHolders = (change = '') => {
    const database = new Database(path);
    try {
      database.exec(change);
      return database.prepare('SELECT count(*) FROM holder').pluck().get();
    } finally {
      database.close();
    }
  };
  expect(countHolders("INSERT INTO holder (pid, pid_started, crc) VALUES (1, 'boot', 0)")).toBe(1);
  const instance = await openTestInstance({ dir });
  for (let attempt = 1; attempt <= 10; attempt += 1)
    expect(instance.queues()[0]).toMatchObject({ name: 'jobs', fault: { code: 'STORAGE_CORRUPT' } });
  expect(openFilesIn(dir).filter((file) => file.includes('unsharded'))).toEqual([]);
  expect(countHolders()).toBe(1);
});
