/** There is one way to commit, and what it replaced is gone: a second connection that commits, and rows of each group in the tables. */
import { platform } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { makeFolder, openTestInstance } from '../folder.ts';
import { openFilesIn } from '../support/open-files.ts';

const groups = 500;

it('many groups leave a few rows in the tables, and no messages that were consumed before', async () => {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir });
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  const pagesBefore = pagesOf(dir);
  for (let group = 0; group < groups; group += 1) {
    session.enqueue('q', { payload: Buffer.alloc(500, 7) });
    await session.commit();
    expect(await session.dequeue('q')).toHaveLength(1);
    await session.commit();
  }
  await instance.checkpoint();
  expect(instance.waits.counters()['log writes']).toBeGreaterThanOrEqual(2 * groups);
  // The applier wakes every tenth of a second, however long the groups took.
  const pages = pagesOf(dir) - pagesBefore;
  expect(pages).toBeLessThan(groups / 2);
  const counters = instance.waits.counters();
  expect(counters['messages applied']).toBe(groups);
  expect(counters['messages stored']).toBeLessThan(groups / 4);
  expect(counters['db file writes']).toBeLessThan(groups / 4);
  expect(counters['db file write time']).toBeGreaterThan(0);
  const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
  const count = (sql: string) => file.prepare(sql).pluck().get() as number;
  expect(count('SELECT count(*) FROM consumption')).toBeLessThan(groups / 4);
  expect(count('SELECT count(*) FROM partition_1')).toBeLessThan(groups / 2);
  expect(count('SELECT coalesce(sum(length(body)), 0) FROM partition_1')).toBeLessThan((groups / 4) * 500);
  expect(count('SELECT sum(count) FROM partition_1')).toBe(groups);
  file.close();
});

/** Pages that were written to the file, as its write-ahead log has them. */
function pagesOf(dir: string): number {
  const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
  const frames = file.pragma('wal_checkpoint(NOOP)') as { log: number }[];
  file.close();
  return frames[0]!.log;
}

it.runIf(platform() === 'linux')(
  'one connection of an instance has its file, and only its own process has the log',
  async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    for (let round = 0; round < 20; round += 1) {
      session.enqueue('q', { payload: 'm' });
      await session.commit();
    }
    await instance.checkpoint();
    const open = openFilesIn(dir).map((path) => path.slice(path.lastIndexOf('/') + 1));
    expect(open.filter((name) => name === 'instance-1.db')).toHaveLength(1);
    expect(open.filter((name) => name === 'instance-1.lock')).toHaveLength(1);
  },
);

it('a group for which the log has no room waits for a log file switch, which is told apart from its sync', async () => {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  for (let message = 0; message < 8; message += 1) {
    session.enqueue('q', { payload: Buffer.alloc(900_000) });
    await session.commit();
  }
  const waitOf = (name: string) => instance.waits.snapshot().find(({ event }) => event === name);
  const switches = waitOf('log file switch (checkpoint incomplete)')!;
  expect(switches.waits).toBeGreaterThan(0);
  expect(switches.waits).toBeLessThan(8);
  expect(switches.totalMs).toBeGreaterThan(0);
  expect(waitOf('log file sync')!.waits).toBe(8);
});
