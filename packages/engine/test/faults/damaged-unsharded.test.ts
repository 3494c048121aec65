/** If the file of the unsharded queues is damaged, calls on them fail with an error that says so, and the sharded queues continue. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { QueueKind } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
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

describe.each([
  [
    'no database at all',
    'unsharded',
    (path: string) => writeFileSync(path, 'no database, and long enough to tell'.repeat(999)),
  ],
  [
    'no database at all',
    'unsharded-grouped',
    (path: string) => writeFileSync(path, 'no database, and long enough to tell'.repeat(999)),
  ],
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
