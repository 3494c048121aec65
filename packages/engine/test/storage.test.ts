/** Files that cannot be opened, and backlogs that do not fit in memory. */
import { closeSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openInstance, QueueError } from '../src/index.ts';
import { SubscriberTable } from '../src/storage/catalog/subscriber-table.ts';
import { FaultProcess } from './faults/fault-process.ts';
import { makeFolder, openTestInstance, text } from './folder.ts';
import { openFilesIn } from './support/open-files.ts';

const code = (value: string) => expect.objectContaining({ code: value });

async function makeBacklog(dir: string, messages: number): Promise<void> {
  const instance = await openInstance({ dir, partitionMessagesMax: 1_000 });
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  for (let i = 0; i < messages; i += 1) {
    session.enqueue('q', { payload: String(i).padEnd(500, '.') });
    if (i % 100 === 99) await session.commit();
  }
  await session.commit();
  await instance.close();
}

describe('opening', () => {
  it('refuses an instance that is already open, and names its process', async () => {
    const instance = await openTestInstance();
    const dir = makeFolder();
    const first = await openTestInstance({ dir });
    await expect(openInstance({ dir })).rejects.toThrow(
      expect.objectContaining({ code: 'INSTANCE_IN_USE', details: { instance: 1, pid: process.pid } }),
    );
    await first.close();
    await (await openInstance({ dir })).close();
    expect(instance.queues()).toEqual([]);
  });

  it('takes an instance over from a process that died', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'q' });
    await expect(openInstance({ dir })).rejects.toThrow(
      expect.objectContaining({
        code: 'INSTANCE_IN_USE',
        message: `Instance 1 is hosted by process ${worker.pid}`,
        details: { instance: 1, pid: worker.pid },
      }),
    );
    await worker.kill();
    const instance = await openTestInstance({ dir });
    expect(instance.queues()).toHaveLength(1);
  });

  it('reports a damaged file', async () => {
    const dir = makeFolder();
    await (await openInstance({ dir })).close();
    writeFileSync(
      join(dir, 'instance-1.db'),
      'this is not a database, and it is long enough to look at twice'.repeat(99),
    );
    await expect(openInstance({ dir })).rejects.toThrow(code('STORAGE_CORRUPT'));
  });

  it('reports a folder that cannot be created', async () => {
    const dir = makeFolder();
    writeFileSync(join(dir, 'file'), '');
    await expect(openInstance({ dir: join(dir, 'file', 'data') })).rejects.toThrow(code('STORAGE_READ_ONLY'));
  });

  it.each([
    { instance: 0 },
    { instance: 65 },
    { instance: 1.5 },
    { partitionMessagesMax: 0 },
    { scrubIntervalMs: -1 },
    { emulatedInterconnectMs: -1 },
  ])('refuses %o, and leaves no file open', async (options) => {
    const dir = makeFolder();
    await expect(openInstance({ dir, ...options })).rejects.toThrow(code('OPTIONS_INVALID'));
    expect(openFilesIn(dir)).toEqual([]);
  });

  it('leaves no file open if its last step fails, and can be repeated', async () => {
    const dir = makeFolder();
    const first = await openInstance({ dir });
    await first.createQueue({ name: 'news', type: 'topic' });
    await first.subscribe('news', { name: 'one' });
    await first.close();
    const markApplied = vi.spyOn(SubscriberTable.prototype, 'markApplied').mockImplementation(() => {
      throw new QueueError('STORAGE_FULL');
    });
    onTestFinished(() => markApplied.mockRestore());
    await expect(openInstance({ dir })).rejects.toThrow(code('STORAGE_FULL'));
    expect(openFilesIn(dir)).toEqual([]);
    markApplied.mockRestore();
    const again = await openTestInstance({ dir });
    expect(again.subscribers('news')).toMatchObject([{ name: 'one' }]);
  });
});

describe('a backlog larger than the cache', () => {
  it('is delivered completely and in order, and its partitions return to the pool', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, cacheBytesMax: 100_000, partitionMessagesMax: 1_000 });
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    const count = 20_000;
    for (let i = 0; i < count; i += 1) {
      session.enqueue('q', { payload: String(i).padEnd(500, '.') });
      if (i % 1_000 === 999) await session.commit();
    }
    await instance.checkpoint(); // What is consumed before would not be stored.
    expect(instance.stats().shards[0]!.partitions.length).toBeGreaterThan(15);
    expect(instance.stats().shards[0]!.cacheBytes).toBeLessThan(1_000_000);
    let next = 0;
    const dequeueSome = async () => {
      for (const payload of text(await session.dequeue('q', { max: 700 }))) {
        expect(Number.parseInt(payload, 10)).toBe(next);
        next += 1;
      }
    };
    await dequeueSome(); // The first dequeue takes all cached messages, and the next one comes before any read can end.
    while (next < count) {
      await dequeueSome();
      await session.commit();
    }
    expect(await session.dequeue('q')).toEqual([]);
    session.enqueue('q', { payload: 'last' });
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ ready: 1, enqueued: count + 1, consumed: count });
    await instance.checkpoint();
    expect(instance.stats().shards[0]!.partitions.length).toBeLessThan(3);
    expect(instance.waits.snapshot().find((wait) => wait.event === 'backlog read')?.waits).toBeGreaterThan(0);
    await instance.close();

    const size = statSync(join(dir, 'instance-1.db')).size;
    const again = await openTestInstance({ dir, partitionMessagesMax: 1_000 });
    const second = again.openSession();
    expect(text(await second.dequeue('q', { max: 10 }))).toEqual(['last']);
    await second.commit();
    for (let i = 0; i < count; i += 1) {
      second.enqueue('q', { payload: String(i).padEnd(500, '.') });
      if (i % 1_000 === 999) await second.commit();
    }
    await again.close();
    // The second backlog reuses the partitions of the first.
    expect(statSync(join(dir, 'instance-1.db')).size).toBeLessThan(size * 1.3);
  });

  it('reports a typed error if a partition cannot be read', async () => {
    const dir = makeFolder();
    await makeBacklog(dir, 5_000);
    const path = join(dir, 'instance-1.db');
    const file = new Database(path);
    file.pragma('wal_checkpoint(TRUNCATE)');
    const root = file
      .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'partition_3'")
      .pluck()
      .get() as number;
    file.close();
    const handle = openSync(path, 'r+');
    writeSync(handle, Buffer.alloc(64, 0xff), 0, 64, (root - 1) * 16_384);
    closeSync(handle);
    const work = async () => {
      const instance = await openInstance({ dir });
      try {
        const session = instance.openSession();
        for (let found = 0; found < 5_000; ) found += (await session.dequeue('q', { max: 500 })).length;
      } finally {
        await instance.close();
      }
    };
    await expect(work()).rejects.toThrow(code('PARTITION_DAMAGED'));
  });
});
