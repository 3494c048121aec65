/** The catalog detects its own losses: a missing queue, subscriber or claim is reported, not taken for a dropped one. */
import { existsSync, readdirSync, readlinkSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkFolder, openInstance, QueueError } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { Catalog } from '../../src/storage/catalog/catalog.ts';
import { CatalogFile } from '../../src/storage/catalog/catalog-file.ts';
import { Membership } from '../../src/storage/catalog/membership.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { overwrite } from './damage.ts';
import { FaultProcess } from './fault-process.ts';

const corrupt = expect.objectContaining({ code: 'STORAGE_CORRUPT' });
const missing = expect.objectContaining({ code: 'COMMITS_MISSING' });

async function closedWithQueues(): Promise<{ dir: string; path: string }> {
  const dir = makeFolder();
  const instance = await openInstance({ dir });
  await instance.createQueue({ name: 'a' });
  await instance.createQueue({ name: 'b', shards: 3 });
  await instance.close();
  return { dir, path: join(dir, 'catalog.db') };
}

describe.each([
  ['a setting changed', 'UPDATE queue SET shards = 2 WHERE name = $b'],
  ['a queue is gone', 'DELETE FROM queue WHERE name = $b'],
  ['there is a queue that was never created', `UPDATE queue SET name = 'c' WHERE name = $b`],
  ['ids would be reused', 'UPDATE sqlite_sequence SET seq = 1'],
])('a catalog in which %s', (_what, sql) => {
  it('is refused by an opening and reported by the check', async () => {
    const { dir, path } = await closedWithQueues();
    const file = new Database(path);
    const statement = file.prepare(sql);
    if (sql.includes('$b')) statement.run({ b: 'b' });
    else statement.run();
    file.close();
    await expect(openInstance({ dir })).rejects.toThrow(corrupt);
    expect(checkFolder(dir).faults).toEqual([expect.stringContaining('catalog.db is damaged')]);
  });
});

it.each(['catalog.db', 'instance-1.db'])(
  'a flipped bit that makes %s read-only for SQLite is reported as damage, not as a missing permission',
  async (name) => {
    const { dir } = await closedWithQueues();
    overwrite(join(dir, name), 18);
    await expect(openInstance({ dir })).rejects.toThrow(corrupt);
    expect(checkFolder(dir).faults).toEqual([expect.stringContaining(`${name} is damaged: its header`)]);
  },
);

it.skipIf(!existsSync('/proc/self/fd'))('an opening that fails leaves no file open', async () => {
  const { dir, path } = await closedWithQueues();
  const file = new Database(path);
  file.exec("DELETE FROM queue WHERE name = 'b'");
  file.close();
  const options = { busyMs: 0, pid: process.pid };
  for (let again = 0; again < 3; again += 1) expect(() => new CatalogFile(dir, options)).toThrow(corrupt);
  const open = readdirSync('/proc/self/fd').map((fd) => readLink(`/proc/self/fd/${fd}`));
  expect(open.filter((name) => name.startsWith(dir))).toEqual([]);
});

/** Empty for one that was closed meanwhile. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

it('damage that occurs while the catalog is open is found', async () => {
  const { dir, path } = await closedWithQueues();
  const instance = await openInstance({ dir });
  const file = new Database(path);
  file.exec("DELETE FROM queue WHERE name = 'b'");
  file.close();
  expect(() => instance.queues()).toThrow(corrupt);
  await expect(instance.createQueue({ name: 'c' })).rejects.toThrow(corrupt);
  await expect(instance.close()).rejects.toThrow(corrupt); // The claim stays, and ends with this process.
});

it('a change that could not be read is applied by the next call', async () => {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir });
  const other = await openTestInstance({ dir, instance: 2 });
  await other.createQueue({ name: 'q' }); // No timer fires between this and the calls below.
  const queues = vi.spyOn(Catalog.prototype, 'queues').mockImplementationOnce(() => {
    throw new QueueError('STORAGE_FAILED');
  });
  onTestFinished(() => queues.mockRestore());
  expect(() => instance.queues()).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }));
  expect(instance.queues()).toMatchObject([{ name: 'q' }]);
});

it('a changed table definition, which SQLite would apply, is reported as damage', async () => {
  const { dir, path } = await closedWithQueues();
  const file = new Database(path);
  file.unsafeMode(true);
  file.pragma('writable_schema = ON');
  file.exec("UPDATE sqlite_schema SET sql = replace(sql, 'DEFAULT 1', 'DEFAULT 0') WHERE name = 'queue'");
  file.close();
  await expect(openInstance({ dir })).rejects.toThrow(
    expect.objectContaining({
      code: 'STORAGE_CORRUPT',
      message: expect.stringContaining('definition of queue'),
    }),
  );
});

it('a missing catalog, or one whose log is cut, is reported and not created anew', async () => {
  const dir = makeFolder();
  const worker = new FaultProcess();
  await worker.open({ dir });
  await worker.create({ name: 'q' });
  await worker.kill();
  const wal = join(dir, 'catalog.db-wal');
  truncateSync(wal, statSync(wal).size - 2_000);
  await expect(openInstance({ dir })).rejects.toThrow(missing);
  for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `catalog.db${end}`));
  await expect(openInstance({ dir })).rejects.toThrow(missing);
  expect(existsSync(join(dir, 'catalog.db'))).toBe(false);
  expect(checkFolder(dir).faults[0]).toContain('is missing');
});

it('a call that changes nothing does not write to the catalog, and each connection sees the changes of others', () => {
  const dir = makeFolder();
  const open = () => new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
  const [one, two] = [open(), open()];
  one.addMember(1);
  const version = two.dataVersion();
  one.releaseSingleton('nobody');
  one.deleteLeavingMember(1);
  expect(two.dataVersion()).toBe(version);
  two.addMember(2);
  one.addMember(3);
  expect(one.members().map(({ instance }) => instance)).toEqual([1, 2, 3]);
  expect(two.members()).toEqual(one.members());
  one.close();
  two.close();
  expect(checkFolder(dir).faults).toEqual([]);
});
