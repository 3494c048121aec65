/** Processes that are killed while they stream leave nothing uncommitted, and lose nothing committed. Also the memory that streams take. */
import { expect, it, vi } from 'vitest';
import type { Instance } from '../../src/index.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { bytesOf, digest, stored } from './payloads.ts';
import { StreamProcess } from './stream-process.ts';

const MiB = 1024 * 1024;

const untilStored = (instance: Instance, dir: string, chunks: number) =>
  vi.waitFor(
    async () => {
      await instance.checkpoint();
      expect(stored(dir)).toMatchObject({ chunks });
    },
    { timeout: 20_000, interval: 20 },
  );

it.each([
  ['in the middle of an upload', { seed: 1, bytes: 24 * MiB, hangAfter: 16 * MiB }],
  ['between the last chunk and the commit', { seed: 1, bytes: 16 * MiB }],
])(
  'a process killed %s leaves orphaned chunks, which the next opening deletes, and their space is reused',
  async (_, call) => {
    const dir = makeFolder();
    const killed = new StreamProcess();
    await killed.ask({ do: 'open', dir });
    await killed.ask({ do: 'upload', ...call });
    await killed.ask({ do: 'checkpoint' });
    await killed.kill();
    const left = stored(dir);
    expect(left).toMatchObject({ uses: 0, payloads: 1 });
    expect(left.chunks).toBeGreaterThan(50);

    const instance = await openTestInstance({ dir });
    await untilStored(instance, dir, 0);
    const { pages } = stored(dir);
    const session = instance.openSession();
    await session.enqueueStream('files', { payload: bytesOf(2, 15 * MiB) });
    await session.commit();
    await instance.checkpoint();
    const after = stored(dir);
    expect(after).toMatchObject({ payloads: 1, uses: 1 });
    expect(after.pages).toBeLessThan(pages * 1.1);
    const [message] = await session.dequeue('files');
    expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(2, 15 * MiB)));
  },
);

it('a process killed after the commit has lost nothing of the payload', async () => {
  const dir = makeFolder();
  const killed = new StreamProcess();
  await killed.ask({ do: 'open', dir });
  await killed.ask({ do: 'upload', seed: 3, bytes: 5 * MiB });
  await killed.ask({ do: 'commit' });
  await killed.kill();
  const instance = await openTestInstance({ dir });
  const [message] = await instance.openSession().dequeue('files', { waitMs: 10_000 });
  expect(await digest(message!.payloadStream())).toEqual(await digest(bytesOf(3, 5 * MiB)));
});

it('a process streams 128 MiB in and out and grows by far less', { timeout: 120_000 }, async () => {
  const dir = makeFolder();
  const process = new StreamProcess();
  await process.ask({ do: 'open', dir });
  // The first payload fills the page caches of SQLite.
  await process.ask({ do: 'upload', seed: 1, bytes: 32 * MiB });
  await process.ask({ do: 'commit' });
  const { peakRss: before } = await process.ask<{ peakRss: number }>({ do: 'take' });
  await process.ask({ do: 'upload', seed: 2, bytes: 128 * MiB });
  await process.ask({ do: 'commit' });
  const { peakRss, ...read } = await process.ask<{ peakRss: number }>({ do: 'take' });
  expect(read).toEqual(await digest(bytesOf(2, 128 * MiB)));
  expect(peakRss - before).toBeLessThan(64 * MiB);
});
