/** Checking and repairing a folder: readable messages are saved, lost ones are reported, and the queues are served again. */
import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { checkFolder, type Instance, openInstance, repairFolder } from '../../src/index.ts';
import { tryFolderLock } from '../../src/storage/sqlite/folder-lock.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { overwrite, overwriteText, smashTable } from './damage.ts';
import { FaultProcess } from './fault-process.ts';

const partitionMessagesMax = 10;

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `m${from + index};`);

/** A closed folder with thirty messages in three partitions, the first three of them consumed. */
async function makeQueue(): Promise<{ dir: string; path: string }> {
  const dir = makeFolder();
  const instance = await openInstance({ dir, partitionMessagesMax });
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  for (const payload of numbered(0, 30)) {
    session.enqueue('q', { payload });
    await session.commit();
  }
  expect(text(await session.dequeue('q', { max: 3 }))).toEqual(numbered(0, 3));
  await session.commit();
  await instance.close();
  return { dir, path: join(dir, 'instance-1.db') };
}

async function takeAll(instance: Instance): Promise<{ payload: string; seq: number }[]> {
  const session = instance.openSession();
  const found: { payload: string; seq: number }[] = [];
  for (;;) {
    const messages = await session.dequeue('q', { max: 100 });
    if (messages.length === 0) return found;
    found.push(
      ...messages.map(({ id, payload }) => ({
        payload: payload.toString(),
        seq: Number(id.split('.')[1]),
      })),
    );
    await session.commit();
  }
}

const payloads = (messages: { payload: string }[]) => messages.map(({ payload }) => payload);

describe('a folder', () => {
  it('without damage has no faults, closed or in use, and a repair changes nothing', async () => {
    const { dir, path } = await makeQueue();
    expect(checkFolder(dir)).toMatchObject({
      faults: [],
      instances: [{ partitions: 3, unconsumedMessages: 27 }],
    });
    const before = readFileSync(path);
    expect(repairFolder(dir).replaced).toEqual([{ instance: 1, partitions: [] }]);
    expect(readFileSync(path).equals(before)).toBe(true);
    const instance = await openTestInstance({ dir, partitionMessagesMax });
    expect(checkFolder(dir).faults).toEqual([]);
    expect(() => repairFolder(dir)).toThrow(expect.objectContaining({ code: 'INSTANCE_IN_USE' }));
    expect(await takeAll(instance)).toHaveLength(27);
  });

  it('can be checked by a process that serves it, which stays the only writer of its grouped queues until it is killed', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'q', kind: 'unsharded-grouped' });
    await worker.put('q', 'a');
    expect(await worker.check(dir)).toEqual([]);
    expect(tryFolderLock(dir, 'group-writer.db')).toBeUndefined();
    await worker.put('q', 'b');
    await worker.kill();
    const instance = await openTestInstance({ dir });
    expect(payloads(await takeAll(instance))).toEqual(['a', 'b']);
  });

  it('that does not exist is refused with a typed error', () => {
    expect(() => checkFolder(join(makeFolder(), 'nowhere'))).toThrow(
      expect.objectContaining({ code: 'STORAGE_READ_ONLY' }),
    );
  });
});

describe('a message whose bytes changed', () => {
  it('is reported and given up by a repair, and the rest is delivered in order', async () => {
    const { dir, path } = await makeQueue();
    overwriteText(path, 'm14;');
    const { faults, instances } = checkFolder(dir);
    expect(faults).toEqual([expect.stringContaining('Partition 2 of shard 100 is damaged: 1 blocks')]);
    expect(instances[0]!.damagedPartitions).toMatchObject([
      { partition: 2, readableMessages: 9, missingRanges: [[15, 16]] },
    ]);
    expect(repairFolder(dir).replaced[0]!.partitions).toMatchObject([{ missingRanges: [[15, 16]] }]);
    expect(checkFolder(dir).faults).toEqual([]);
    const instance = await openTestInstance({ dir, partitionMessagesMax });
    const found = await takeAll(instance);
    expect(payloads(found)).toEqual([...numbered(3, 14), ...numbered(15, 30)]);
    expect(found[0]!.seq).toBe(4);
    expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0 });
  });
});

describe('a partition that cannot be read', () => {
  it('is given up by a repair; if it was the last one, its numbers are never reused', async () => {
    const { dir, path } = await makeQueue();
    smashTable(path, 'partition_3');
    expect(checkFolder(dir).faults).toHaveLength(1);
    repairFolder(dir);
    expect(checkFolder(dir).faults).toEqual([]);
    const instance = await openTestInstance({ dir, partitionMessagesMax });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'new' });
    await session.commit();
    const found = await takeAll(instance);
    expect(payloads(found)).toEqual([...numbered(3, 20), 'new']);
    expect(found.at(-1)!.seq).toBeGreaterThan(30);
  });
});

describe('commits that are missing', () => {
  it('are accepted as lost by a repair, after which no number is used twice', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'q' });
    await worker.put('q', 'a', 'b');
    await worker.close();
    await worker.open({ dir });
    const before = copyInstance(dir);
    const [lost] = await worker.put('q', 'lost');
    await worker.kill();
    before.restore();
    rmSync(join(dir, 'instance-1.db-wal'));
    expect(checkFolder(dir).faults).toEqual([expect.stringContaining('acknowledged commits are missing')]);
    repairFolder(dir);
    const instance = await openTestInstance({ dir });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'c' });
    const { ids } = await session.commit();
    expect(Number(ids[0]!.split('.')[1])).toBeGreaterThan(Number(lost!.split('.')[1]));
    expect(payloads(await takeAll(instance))).toEqual(['a', 'b', 'c']);
    await instance.close();
    expect(checkFolder(dir).faults).toEqual([]);
  });
});

/** A copy of the instance's tables and its redo log, without the record of what was acknowledged. */
function copyInstance(dir: string): { restore(): void } {
  const copies = makeFolder();
  const names = readdirSync(dir).filter((name) => /^instance-1\.(db$|redo)/.test(name));
  for (const name of names) copyFileSync(join(dir, name), join(copies, name));
  return {
    restore: () => {
      for (const name of names) copyFileSync(join(copies, name), join(dir, name));
    },
  };
}

/** The sequence number of a message that is enqueued, with its commit lost: the files are those from before. */
async function loseCommit(dir: string): Promise<number> {
  const before = copyInstance(dir);
  const instance = await openTestInstance({ dir, partitionMessagesMax });
  const seq = await putOne(instance, 'lost');
  await instance.close();
  before.restore();
  return seq;
}

async function putOne(instance: Instance, payload: string): Promise<number> {
  const session = instance.openSession();
  session.enqueue('q', { payload });
  const { ids } = await session.commit();
  return Number(ids[0]!.split('.')[1]);
}

it('commits that are missing again after a repair are accepted as lost again, and no number is used twice', async () => {
  const { dir } = await makeQueue();
  const seqs: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    seqs.push(await loseCommit(dir));
    expect(checkFolder(dir).faults).toEqual([expect.stringContaining('acknowledged commits are missing')]);
    repairFolder(dir);
    expect(checkFolder(dir).faults).toEqual([]);
  }
  const instance = await openTestInstance({ dir, partitionMessagesMax });
  seqs.push(await putOne(instance, 'new'));
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
  expect(payloads(await takeAll(instance))).toEqual([...numbered(3, 30), 'new']);
});

it('partitions of which the pool is damaged are reported as lost, and neither their numbers nor their tables are used again', async () => {
  const { dir, path } = await makeQueue();
  await loseCommit(dir);
  // Also the free ones, so that new partitions would get the numbers of the lost ones.
  const file = new Database(path);
  file.exec('UPDATE partition SET first_seq = coalesce(first_seq, 0) + 1 WHERE partition >= 3');
  file.close();
  const { accepted } = repairFolder(dir);
  expect(accepted).toEqual([
    expect.stringMatching(/rows of the table partition are damaged/),
    expect.stringMatching(/^Partition 3 of .* is given up with 10 messages/),
  ]);
  expect(checkFolder(dir).faults).toEqual([]);
  const instance = await openInstance({ dir, partitionMessagesMax });
  const seqs: number[] = [];
  for (const payload of numbered(40, 55)) seqs.push(await putOne(instance, payload));
  expect(seqs[0]).toBeGreaterThan(31);
  await instance.close();
  expect(checkFolder(dir).faults).toEqual([]);
  const reopened = await openTestInstance({ dir, partitionMessagesMax });
  expect(payloads(await takeAll(reopened))).toEqual([...numbered(3, 20), ...numbered(40, 55)]);
});

it('files without checksums of the engine are checked by SQLite', async () => {
  const { dir } = await makeQueue();
  overwrite(join(dir, 'catalog.db'), 16_384 + 4, 200);
  expect(checkFolder(dir).faults[0]).toContain('catalog.db');
});
