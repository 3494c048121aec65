/** The write-ahead log stays within a bound even if a reader keeps a transaction open, which keeps the log from being reused. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Instance, QueueError } from '../src/index.ts';
import type { SqliteFile } from '../src/storage/sqlite/open-sqlite.ts';
import { CheckpointScheduler } from '../src/storage/sqlite/write-ahead-log.ts';
import { makeFolder, openTestInstance } from './folder.ts';

const MiB = 1024 ** 2;
const logBytesMax = 64 * MiB;
/** Allowance for what is committed between two checks of the log, and for the commit that is checked. */
const overshoot = 16 * MiB;

/** Opens a read transaction, as another process might. */
function openReader(path: string): { end(): void } {
  const file = new Database(path, { readonly: true });
  onTestFinished(() => void file.close());
  file.exec('BEGIN');
  file.prepare('SELECT count(*) FROM sqlite_schema').get();
  return { end: () => file.exec('COMMIT') };
}

/** Enqueues messages of 1 MiB until one is refused; returns how many were acknowledged, and the error. */
async function enqueueUntilRefused(instance: Instance, most: number) {
  const session = instance.openSession();
  try {
    for (let acknowledged = 0; acknowledged < most; acknowledged += 1) {
      session.enqueue('q', { payload: Buffer.alloc(MiB) });
      try {
        await session.commit();
      } catch (error) {
        return { acknowledged, error };
      }
    }
    return { acknowledged: most, error: undefined };
  } finally {
    await session.close();
  }
}

describe.each([
  ['sharded', 'instance-1.db'],
  ['unsharded', 'unsharded.db'],
  ['unsharded-grouped', 'unsharded.db'],
] as const)('the log of %s queues', (kind, file) => {
  it('stops growing at its bound while a reader is open; commits are refused, and accepted again after the reader ends', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, logBytesMax });
    await instance.createQueue({ name: 'q', kind, durability: 'relaxed' });
    const first = await enqueueUntilRefused(instance, 1);
    const path = join(dir, file);
    const reader = openReader(path);

    const { acknowledged, error } = await enqueueUntilRefused(instance, 200);
    expect(error).toBeInstanceOf(QueueError);
    expect(error).toMatchObject({ code: 'LOG_FULL', retryable: true, details: { logBytesMax } });
    expect(acknowledged).toBeGreaterThan(40);
    expect(statSync(`${path}-wal`).size).toBeLessThan(logBytesMax + overshoot);
    expect(instance.stats().logBytes).toBeGreaterThan(logBytesMax);
    expect((await enqueueUntilRefused(instance, 1)).error).toMatchObject({ code: 'LOG_FULL' });

    reader.end();
    const after = await enqueueUntilRefused(instance, 100);
    expect(after).toEqual({ acknowledged: 100, error: undefined });
    expect(statSync(`${path}-wal`).size).toBeLessThan(logBytesMax + overshoot);
    expect(instance.queue('q').ready).toBe(first.acknowledged + acknowledged + after.acknowledged);
  });
});

describe('the readers of the engine', () => {
  it('keep no transaction open between two reads: the whole log can be checkpointed while a backlog is half read', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, cacheBytesMax: MiB });
    await instance.createQueue({ name: 'q', durability: 'relaxed' });
    await enqueueUntilRefused(instance, 24);
    const consumer = instance.openSession();
    // Both are read back by the reader thread.
    expect(await consumer.dequeue('q')).toHaveLength(1);
    expect(await consumer.dequeue('q')).toHaveLength(1);
    const { messages } = await instance.browse('q', { limit: 3 });
    expect(messages).toHaveLength(3);

    const file = new Database(join(dir, 'instance-1.db'));
    onTestFinished(() => void file.close());
    expect(file.pragma('wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0, log: 0 }]);
  });
});

it('a full log stays full while another process checkpoints it, which leaves its length unknown', () => {
  const framesMax = 10;
  let row = { busy: 0, log: framesMax + 1, checkpointed: 0 };
  // Two real processes would have to meet in the moments of a checkpoint.
  const file = { pragma: () => 4_096, prepare: () => ({ get: () => row }) } as unknown as SqliteFile;
  const checkpoints = new CheckpointScheduler(file, framesMax * 4_096);
  const refused = expect.objectContaining({
    code: 'LOG_FULL',
    details: { logBytes: 11 * 4_096, logBytesMax: 10 * 4_096 },
  });
  checkpoints.runPassive();
  expect(() => checkpoints.assertLogFits()).toThrow(refused);
  row = { busy: 1, log: -1, checkpointed: -1 };
  expect(() => checkpoints.assertLogFits()).toThrow(refused);
  row = { busy: 0, log: framesMax + 1, checkpointed: framesMax + 1 };
  checkpoints.assertLogFits();
});

it.each([0, 64 * MiB - 1, Number.NaN])('a bound of %s bytes is refused', async (bytes) => {
  await expect(openTestInstance({ logBytesMax: bytes })).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
});
