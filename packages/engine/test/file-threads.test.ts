/** Threads that have closed the file of one instance serve the next. */
import { writeFileSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { instanceFilePath } from '../src/storage/instance-file/instance-file.ts';
import { makeFolder, openTestInstance } from './folder.ts';

/** Counts the threads that this process starts from now on. */
function countStartedThreads(): { count: number } {
  const started = { count: 0 };
  const onWorker = (_worker: Worker) => {
    started.count += 1;
  };
  process.on('worker', onWorker);
  onTestFinished(() => void process.off('worker', onWorker));
  return started;
}

async function openAndClose(dir = makeFolder()): Promise<void> {
  const instance = await openTestInstance({ dir });
  await instance.close();
}

describe('a thread that has closed its file', () => {
  it('serves the next instance', async () => {
    await openAndClose();
    const started = countStartedThreads();
    await openAndClose();
    await openAndClose();
    expect(started.count).toBe(0);
  });

  it('also reads for the next instance', async () => {
    const dir = makeFolder();
    const started = countStartedThreads();
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
    const { count } = started;
    await readBacklog();
    expect(started.count).toBe(count);
  });

  it('ends if two others wait already', async () => {
    const openFour = () => Promise.all([1, 2, 3, 4].map(() => openTestInstance()));
    const closeAll = (all: Awaited<ReturnType<typeof openFour>>) =>
      Promise.all(all.map((instance) => instance.close()));
    await closeAll(await openFour());
    const started = countStartedThreads();
    await closeAll(await openFour());
    expect(started.count).toBe(2);
  });

  it('serves the next instance although its own file could not be opened', async () => {
    await openAndClose();
    const started = countStartedThreads();
    const dir = makeFolder();
    await openAndClose(dir);
    writeFileSync(instanceFilePath(dir, 1), 'this is not a database, whoever reads it, however long');
    await expect(openTestInstance({ dir })).rejects.toThrow();
    await openAndClose();
    expect(started.count).toBe(0);
  });

  it('counts CPU time for the next instance from its opening', async () => {
    const busy = await openTestInstance();
    await busy.createQueue({ name: 'orders' });
    const session = busy.openSession();
    for (let group = 0; group < 300; group += 1) {
      session.enqueue('orders', { payload: 'x'.repeat(1_000) });
      await session.commit();
    }
    const usedUs = busy.stats().cpu.writerUs;
    await busy.close();
    const started = countStartedThreads();
    const next = await openTestInstance();
    expect(started.count).toBe(0);
    expect(next.stats().cpu.writerUs).toBeGreaterThan(0);
    expect(next.stats().cpu.writerUs).toBeLessThan(usedUs);
  });
});
