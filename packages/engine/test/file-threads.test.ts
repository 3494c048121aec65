/** Threads that have closed the file of one instance serve the next. */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { instanceFilePath } from '../src/storage/instance-file/instance-file.ts';
import { ReaderThread } from '../src/storage/threads/reader-thread-client.ts';
import { makeFolder, openTestInstance } from './folder.ts';

/** Counts the threads that this process starts from now on, and those of them that have ended. */
function countThreads(): { started: number; ended: number } {
  const count = { started: 0, ended: 0 };
  const onWorker = (worker: Worker) => {
    count.started += 1;
    worker.once('exit', () => {
      count.ended += 1;
    });
  };
  process.on('worker', onWorker);
  onTestFinished(() => void process.off('worker', onWorker));
  return count;
}

async function openAndClose(dir = makeFolder()): Promise<void> {
  const instance = await openTestInstance({ dir });
  await instance.close();
}

describe('a thread that has closed its file', () => {
  it('serves the next instance', async () => {
    await openAndClose();
    const threads = countThreads();
    await openAndClose();
    await openAndClose();
    expect(threads.started).toBe(0);
  });

  it('also reads for the next instance', async () => {
    const dir = makeFolder();
    const threads = countThreads();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    for (let sent = 0; sent < 100; sent += 1) session.enqueue('orders', { payload: `${sent}` });
    await session.commit();
    await instance.close();
    const readBacklog = async () => {
      const reopened = await openTestInstance({ dir });
      const reader = reopened.openSession();
      const messages = await reader.dequeue('orders', { max: 100 });
      expect(messages.map(({ payload }) => payload.toString())).toEqual(
        Array.from({ length: 100 }, (_, sent) => `${sent}`),
      );
      await reader.rollback();
      await reopened.close();
    };
    await readBacklog();
    const { started } = threads;
    await readBacklog();
    expect(threads.started).toBe(started);
  });

  it('ends if two others wait already', async () => {
    const openFour = () => Promise.all([1, 2, 3, 4].map(() => openTestInstance()));
    const closeAll = (all: Awaited<ReturnType<typeof openFour>>) =>
      Promise.all(all.map((instance) => instance.close()));
    await closeAll(await openFour());
    const threads = countThreads();
    await closeAll(await openFour());
    expect(threads.started).toBe(2);
  });

  it('counts CPU time for the next instance from its opening', async () => {
    const busy = await openTestInstance();
    await busy.createQueue({ name: 'orders' });
    const session = busy.openSession();
    for (let group = 0; group < 300; group += 1) {
      session.enqueue('orders', { payload: 'x'.repeat(1_000) });
      await session.commit();
      await busy.checkpoint(); // Groups would share few transactions, which take the thread less time than an opening.
    }
    const usedUs = busy.stats().cpu.writerUs;
    await busy.close();
    const threads = countThreads();
    const next = await openTestInstance();
    expect(threads.started).toBe(0);
    expect(next.stats().cpu.writerUs).toBeGreaterThan(0);
    expect(next.stats().cpu.writerUs).toBeLessThan(usedUs);
  });
});

it('a thread that could not open its file ends, since it may have opened a part of it', async () => {
  const dir = makeFolder();
  await openAndClose(dir);
  writeFileSync(instanceFilePath(dir, 1), 'this is not a database, whoever reads it, however long');
  await Promise.all([1, 2, 3].map(() => openTestInstance())); // so that no thread waits
  const threads = countThreads();
  await expect(openTestInstance({ dir })).rejects.toThrow();
  expect(threads.started).toBe(1);
  await expect.poll(() => threads.ended).toBe(1);
});

describe('a reader', () => {
  const dueMessages = { kind: 'due', nowMs: 0, bytesMax: 1 } as const;

  it('sends its thread nothing once its file is to be closed, as the thread may serve another instance', async () => {
    const dir = makeFolder();
    await openAndClose(dir);
    const path = instanceFilePath(dir, 1);
    const reader = new ReaderThread(path);
    const before = reader.read(dueMessages);
    const closing = reader.close();
    await expect(reader.read(dueMessages)).rejects.toMatchObject({ code: 'INSTANCE_CLOSED' });
    expect(await before).toMatchObject({ rows: [] });
    await closing;
    await expect(reader.read(dueMessages)).rejects.toMatchObject({ code: 'INSTANCE_CLOSED' });
    const next = new ReaderThread(path);
    expect(await next.read(dueMessages)).toMatchObject({ rows: [] });
    await next.close();
  });

  it('that replaces a failed thread does not lose its reads when that thread ends', async () => {
    const dir = makeFolder();
    await openAndClose(dir);
    const path = instanceFilePath(dir, 1);
    const others = [new ReaderThread(path), new ReaderThread(path)];
    await Promise.all(others.map((other) => other.read(dueMessages))); // so that no thread waits
    const missing = join(makeFolder(), 'missing.db');
    const reader = new ReaderThread(missing);
    const second = Promise.withResolvers<unknown>();
    process.once('worker', (worker: Worker) => {
      worker.once('error', () => {
        copyFileSync(path, missing);
        second.resolve(reader.read(dueMessages)); // the failed thread has not ended yet
      });
    });
    await expect(reader.read(dueMessages)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(await second.promise).toMatchObject({ rows: [] });
    await Promise.all([reader, ...others].map((each) => each.close()));
  });
});
