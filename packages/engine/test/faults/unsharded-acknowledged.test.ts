/** The unsharded file detects its own losses: damage is reported, and never taken for an empty queue. */
import { cpSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { checkFolder, openInstance, QueueError, repairFolder } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { overwriteText } from './damage.ts';
import { FaultProcess } from './fault-process.ts';

async function killedAfter(puts: number): Promise<string> {
  const dir = makeFolder();
  const worker = new FaultProcess();
  await worker.open({ dir });
  await worker.create({ name: 'jobs', kind: 'unsharded' });
  for (let i = 0; i < puts; i += 1) await worker.put('jobs', `${i}`.padEnd(300, '.'));
  await worker.kill();
  return dir;
}

/** The folder of a closed instance with 20 messages. */
async function closedWith20(): Promise<{ dir: string; path: string }> {
  const dir = makeFolder();
  const instance = await openInstance({ dir });
  await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
  const session = instance.openSession();
  for (let i = 0; i < 20; i += 1) session.enqueue('jobs', { payload: `m${i};`.padEnd(300, '.') });
  await session.commit();
  await instance.close();
  return { dir, path: join(dir, 'unsharded.db') };
}

async function readOrCode(dir: string): Promise<number | string> {
  const instance = await openInstance({ dir });
  try {
    return (await instance.openSession().dequeue('jobs', { max: 1_000 })).length;
  } catch (error) {
    if (error instanceof QueueError) return error.code;
    throw error;
  } finally {
    await instance.close();
  }
}

describe('the write-ahead log of the unsharded file', () => {
  it('is reported as damaged whichever byte changes, and the files are left unchanged', async () => {
    const dir = await killedAfter(40);
    const wal = join(dir, 'unsharded.db-wal');
    const { size } = statSync(wal);
    for (let i = 0; i < 12; i += 1) {
      const copy = join(makeFolder(), 'data');
      cpSync(dir, copy, { recursive: true });
      const bytes = readFileSync(wal);
      bytes[Math.floor((i + 0.37) * (size / 12))]! ^= 0x10;
      writeFileSync(join(copy, 'unsharded.db-wal'), bytes);
      expect(await readOrCode(copy)).toBe('COMMITS_MISSING');
      expect(readFileSync(join(copy, 'unsharded.db-wal')).equals(bytes)).toBe(true);
      expect(checkFolder(copy).faults).toEqual([expect.stringContaining('was acknowledged')]);
    }
    expect(await readOrCode(dir)).toBe(40);
  });

  it('may lack the last relaxed commits, which are not synced', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'jobs', kind: 'unsharded', durability: 'relaxed' });
    await worker.put('jobs', 'a');
    await worker.put('jobs', 'b');
    await worker.kill();
    const wal = join(dir, 'unsharded.db-wal');
    truncateSync(wal, statSync(wal).size - 100);
    expect(await readOrCode(dir)).toBe(1);
  });
});

it('a missing unsharded file is not created anew', async () => {
  const dir = await killedAfter(3);
  for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `unsharded.db${end}`));
  for (let again = 0; again < 2; again += 1) expect(await readOrCode(dir)).toBe('COMMITS_MISSING');
});

it('a message whose payload changed is not delivered; messages before it are', async () => {
  const { dir, path } = await closedWith20();
  overwriteText(path, 'm7;');
  const instance = await openTestInstance({ dir });
  const session = instance.openSession();
  expect(text(await session.dequeue('jobs', { max: 99 }))).toHaveLength(7);
  await session.commit();
  await expect(session.dequeue('jobs')).rejects.toThrow(
    expect.objectContaining({ code: 'STORAGE_CORRUPT', details: expect.objectContaining({ id: 8 }) }),
  );
  expect(checkFolder(dir).faults).toEqual([expect.stringContaining('message 8 of queue')]);
});

/** Effects on rows of a stale page, which SQLite finds valid although a later version was written. */
describe.each([
  ['hides a message', 'DELETE FROM message WHERE id = 5'],
  ['loses its counters', 'UPDATE queue_total SET enqueued = enqueued + 1 WHERE queue_id > 0'],
])('a page of the unsharded file that %s', (_what, sql) => {
  it('is found when the file is opened', async () => {
    const { dir, path } = await closedWith20();
    const file = new Database(path);
    file.exec(sql);
    file.close();
    expect(await readOrCode(dir)).toBe('STORAGE_CORRUPT');
    expect(checkFolder(dir).faults).not.toEqual([]);
  });
});

it('a consumed message that a stale page brings back in place of another is found when the file is opened', async () => {
  const { dir, path } = await closedWith20();
  const file = new Database(path);
  const old = file
    .prepare('SELECT id, queue_id, crc, record FROM message WHERE id = 1')
    .raw()
    .get() as unknown[];
  const instance = await openTestInstance({ dir });
  const session = instance.openSession();
  await session.dequeue('jobs', { max: 5 });
  await session.commit();
  await instance.close();
  file.prepare('INSERT INTO message VALUES (?, ?, ?, ?)').run(old);
  file.exec('DELETE FROM message WHERE id = 9');
  file.close();
  expect(await readOrCode(dir)).toBe('STORAGE_CORRUPT');
  expect(checkFolder(dir).faults[0]).toContain('are not those that were stored');
});

it('a dequeue from a queue with missing messages is refused instead of finding none or waiting', async () => {
  const { dir, path } = await closedWith20();
  const instance = await openTestInstance({ dir });
  const session = instance.openSession();
  await session.dequeue('jobs', { max: 10 });
  await session.commit();
  const file = new Database(path);
  file.exec('DELETE FROM message');
  file.close();
  const corrupt = expect.objectContaining({ code: 'STORAGE_CORRUPT' });
  await expect(session.dequeue('jobs')).rejects.toThrow(corrupt);
  await expect(session.dequeue('jobs', { waitMs: 60_000 })).rejects.toThrow(corrupt);
});

it('a delivery to an unknown holder does not stay held', async () => {
  const { dir, path } = await closedWith20();
  const file = new Database(path);
  file.exec(
    'INSERT INTO delivery (queue_id, id, holder, delivery_count) SELECT queue_id, id, 77, 1 FROM message WHERE id < 4',
  );
  file.close();
  expect(await readOrCode(dir)).toBe(20);
});

describe('a repair', () => {
  it('gives up a damaged message, and the others are delivered', async () => {
    const { dir, path } = await closedWith20();
    overwriteText(path, 'm7;');
    expect(repairFolder(dir).accepted).toEqual([expect.stringContaining('message 8 of queue')]);
    expect(checkFolder(dir).faults).toEqual([]);
    expect(await readOrCode(dir)).toBe(19);
  });

  it('accepts the loss of missing commits, and does not reuse their ids', async () => {
    const dir = await killedAfter(5);
    const wal = join(dir, 'unsharded.db-wal');
    truncateSync(wal, statSync(wal).size - 1_000);
    repairFolder(dir);
    expect(checkFolder(dir).faults).toEqual([]);
    const instance = await openTestInstance({ dir });
    const session = instance.openSession();
    expect(await session.dequeue('jobs', { max: 9 })).toHaveLength(4);
    session.enqueue('jobs', { payload: 'new' });
    expect(Number((await session.commit()).ids[0])).toBeGreaterThan(5);
  });

  it('accepts a catalog in its current state', async () => {
    const { dir } = await closedWith20();
    const file = new Database(join(dir, 'catalog.db'));
    file.exec('UPDATE queue SET shards = 1');
    file.close();
    expect(repairFolder(dir).accepted).toEqual([expect.stringContaining('(checksum mismatch)')]);
    expect(await readOrCode(dir)).toBe(20);
  });
});
