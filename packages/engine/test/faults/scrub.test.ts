/** Damage to data that no call reads is found in the background, and reported until it is repaired. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Instance, openInstance, QueueError } from '../../src/index.ts';
import { Scrubber } from '../../src/runtime/scrubber.ts';
import { scrubFiles } from '../../src/storage/threads/scrub-files.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { ManualPorts } from '../support/manual-ports.ts';
import { overwriteText } from './damage.ts';

async function closedWithContent(): Promise<string> {
  const dir = makeFolder();
  const instance = await openInstance({ dir, partitionMessagesMax: 4 });
  await instance.createQueue({ name: 'q' });
  await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
  const session = instance.openSession();
  for (let i = 0; i < 12; i += 1) {
    session.enqueue('q', { payload: `q${i};`.padEnd(200, '.') });
    await session.commit();
  }
  for (let i = 0; i < 4; i += 1) session.enqueue('q', { payload: `late${i};`, delayMs: 86_400_000 });
  await session.commit();
  for (let i = 0; i < 4; i += 1) session.enqueue('jobs', { payload: `j${i};` });
  await session.commit();
  await instance.close();
  return dir;
}

const scrub = (dir: string) => [
  ...scrubFiles({
    dir,
    instancePath: join(dir, 'instance-1.db'),
    unshardedPath: join(dir, 'unsharded.db'),
  }),
];

const messages = (instance: Instance) => instance.stats().scrub.findings.map(({ message }) => message);

describe('a scrub', () => {
  it('finds nothing in an undamaged folder, and works in slices', async () => {
    const slices = scrub(await closedWithContent());
    expect(slices.flat()).toEqual([]);
    expect(slices.length).toBeGreaterThan(10);
  });

  it.each([
    [
      'a message',
      'instance-1.db',
      'q6;',
      /instance-1\.db: partition 2 is damaged: 1 blocks have a wrong checksum/,
    ],
    ['a delayed message', 'instance-1.db', 'late2;', /1 rows of the table delayed are damaged/],
    ['an unsharded message', 'unsharded.db', 'j2;', /message 3 of queue 2 is damaged/],
    ['a queue', 'catalog.db', 'jobs', /catalog\.db/],
  ])('names %s that is damaged', async (_what, file, content, expected) => {
    const dir = await closedWithContent();
    overwriteText(join(dir, file), content);
    expect(scrub(dir).flat()).toEqual(expect.arrayContaining([expect.stringMatching(expected)]));
  });

  it('reports that a file in use was deleted', async () => {
    const dir = await closedWithContent();
    const instance = await openTestInstance({ dir, scrubIntervalMs: 100 });
    await expect.poll(() => instance.stats().scrub.completed).toBeGreaterThan(0);
    expect(messages(instance)).toEqual([]);
    for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `unsharded.db${end}`), { force: true });
    await expect.poll(() => messages(instance)).toEqual([expect.stringContaining('unsharded.db is missing')]);
  });

  it('that cannot be started is tried again after the interval', async () => {
    const ports = new ManualPorts();
    let attempts = 0;
    const scrubber = new Scrubber({
      dir: 'none',
      instancePath: 'none',
      unshardedPath: () => {
        attempts += 1;
        throw new QueueError('STORAGE_FAILED');
      },
      intervalMs: 100,
      ports,
      onFound: () => undefined,
    });
    await ports.advance(200);
    expect(attempts).toBe(2);
    await scrubber.close();
  });

  it('runs in the background of an instance, whose statistics show what was found and when', async () => {
    const dir = await closedWithContent();
    overwriteText(join(dir, 'instance-1.db'), 'late2;');
    const instance = await openTestInstance({ dir, scrubIntervalMs: 100 });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'new' });
    await session.commit();
    await expect.poll(() => messages(instance)).toHaveLength(1);
    const [first] = instance.stats().scrub.findings;
    const { completed } = instance.stats().scrub;
    await expect.poll(() => instance.stats().scrub.completed).toBeGreaterThan(completed);
    expect(instance.stats().scrub.findings).toEqual([first]); // The finding keeps the time when it was first made.
  });
});
