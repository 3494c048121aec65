/** The application's first statement, from which on a process writes the tables: it must find there what the redo log had. */

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { openInstance, type Session } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';

function partitionTables(dir: string): string[] {
  const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
  try {
    const select = "SELECT name FROM sqlite_schema WHERE name GLOB 'partition_[0-9]*'";
    return file.prepare(select).pluck().all() as string[];
  } finally {
    file.close();
  }
}

function commitWithTable(session: Session): Promise<unknown> {
  session.execute('CREATE TABLE item (no INTEGER PRIMARY KEY)');
  session.enqueue('q', { payload: 'with a table' });
  return session.commit();
}

it('waits for a group that is not synced yet', async () => {
  const dir = makeFolder();
  const instance = await openInstance({ dir, emulatedSyncMs: 50 });
  onTestFinished(() => instance.close());
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  session.enqueue('q', { payload: 'first' });
  const first = session.commit();
  await new Promise<void>((resolve) => setImmediate(resolve)); // its group is closed, and its sync begins
  await new Promise<void>((resolve) => setImmediate(resolve));
  await Promise.all([first, commitWithTable(instance.openSession())]);
  await instance.close();
  const again = await openTestInstance({ dir });
  expect(text(await again.openSession().dequeue('q', { max: 9 }))).toEqual(['first', 'with a table']);
});

it('leaves nothing unapplied behind, and a checkpoint waits for it', async () => {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir });
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  for (let count = 0; count < 300; count += 1) session.enqueue('q', { payload: `${count}`.padEnd(500) });
  await session.commit();
  const withTable = commitWithTable(instance.openSession());
  await instance.checkpoint();
  expect(partitionTables(dir)).not.toEqual([]);
  await withTable;
  expect(instance.queue('q').ready).toBe(301);
});
