/** If a log is damaged, cut or missing, all acknowledged commits are found, or the instance reports that some are missing. */
import {
  closeSync,
  copyFileSync,
  cpSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openInstance, QueueError } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { FaultProcess } from './fault-process.ts';

/** The folder of a process that was killed after so many enqueues and one dequeue of three messages were acknowledged. */
async function killedAfter(puts: number): Promise<string> {
  const dir = makeFolder();
  const worker = new FaultProcess();
  await worker.open({ dir });
  await worker.create({ name: 'q', shards: 2 });
  for (let i = 0; i < puts; i += 1) await worker.put('q', `${i}`.padEnd(300, '.'));
  await worker.take('q', 3);
  await worker.kill();
  return dir;
}

function copyOf(dir: string): string {
  const copy = join(makeFolder(), 'data');
  cpSync(dir, copy, { recursive: true });
  return copy;
}

function flip(path: string, at: number): void {
  const byte = readFileSync(path)[at]!;
  const handle = openSync(path, 'r+');
  writeSync(handle, Buffer.of(byte ^ 0x5a), 0, 1, at);
  closeSync(handle);
}

/** The number of ready messages, or the code of the typed error. */
async function readOrCode(dir: string): Promise<number | string> {
  try {
    const instance = await openInstance({ dir });
    try {
      return (await instance.openSession().dequeue('q', { max: 1_000 })).length;
    } finally {
      await instance.close();
    }
  } catch (error) {
    if (error instanceof QueueError) return error.code;
    throw error;
  }
}

describe('the write-ahead log of a killed process', () => {
  const wal = 'instance-1.db-wal';

  it('is reported to miss commits, whichever byte of it changes', {
    timeout: 120_000,
  }, async () => {
    const puts = 40;
    const dir = await killedAfter(puts);
    const { size } = statSync(join(dir, wal));
    const outcomes = new Map<number | string, number>();
    for (let i = 0; i < 40; i += 1) {
      const at = Math.floor((i + 0.37) * (size / 40));
      const copy = copyOf(dir);
      flip(join(copy, wal), at);
      const outcome = await readOrCode(copy);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      rmSync(copy, { recursive: true });
    }
    // Every frame belongs to an acknowledged commit, so no change is harmless.
    expect([...outcomes.keys()]).toEqual(['COMMITS_MISSING']);
  });

  it.each([
    ['gone', (path: string) => rmSync(path)],
    ['cut in half', (path: string) => truncateSync(path, statSync(path).size / 2)],
    ['of no bytes', (path: string) => truncateSync(path, 0)],
    ['an older one', (path: string) => copyFileSync(`${path}-older`, path)],
  ])('is reported when it is %s, by each attempt to open it', async (how, damage) => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'q' });
    await worker.put('q', 'a');
    const path = join(dir, wal);
    copyFileSync(path, `${path}-older`);
    await worker.put('q', 'b');
    await worker.kill();
    damage(path);
    for (let again = 0; again < 2; again += 1) {
      await expect(openInstance({ dir }), how).rejects.toThrow(
        expect.objectContaining({
          code: 'COMMITS_MISSING',
          message: expect.stringMatching(
            /ends with group \d+ of epoch \d, but group 2 of epoch 1 was acknowledged/,
          ),
        }),
      );
    }
  });

  it('may have further bytes behind the last acknowledged commit', async () => {
    const dir = await killedAfter(10);
    const path = join(dir, wal);
    truncateSync(path, statSync(path).size + 40_000); // A commit may have been under way.
    expect(await readOrCode(dir)).toBe(7);
  });

  it('may lack the last relaxed commits, which are not synced', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'q', durability: 'relaxed' });
    await worker.put('q', 'a');
    await worker.put('q', 'b');
    await worker.kill();
    expect(await readOrCode(copyOf(dir))).toBe(2);
    const path = join(dir, wal);
    truncateSync(path, statSync(path).size - 100); // A power cut may leave the log like this.
    expect(await readOrCode(dir)).toBe(1);
  });
});

describe('an instance file', () => {
  it('is not created anew if it is missing although commits to it were acknowledged', async () => {
    const dir = await killedAfter(3);
    for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `instance-1.db${end}`));
    expect(await readOrCode(dir)).toBe('COMMITS_MISSING');
  });

  it('is opened without the record of its last acknowledged group, which is then written again', async () => {
    const dir = await killedAfter(5);
    rmSync(join(dir, 'instance-1.ack'));
    expect(await readOrCode(dir)).toBe(2);
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.put('q', 'x');
    await worker.kill();
    rmSync(join(dir, wal(1)));
    expect(await readOrCode(dir)).toBe('COMMITS_MISSING');
  });

  it('of a closed instance has all of its commits, including groups that changed the partition pool', async () => {
    const dir = makeFolder();
    for (let round = 0; round < 4; round += 1) {
      const instance = await openTestInstance({ dir, partitionMessagesMax: 3 });
      if (round === 0) await instance.createQueue({ name: 'q' });
      const session = instance.openSession();
      for (let i = 0; i < 20; i += 1) {
        session.enqueue('q', { payload: `${i}` });
        await session.commit();
      }
      const dequeued: string[] = [];
      while (dequeued.length < 20) dequeued.push(...text(await session.dequeue('q', { max: 20 })));
      expect(dequeued).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
      await session.commit();
      await instance.close();
    }
    const reopened = await openTestInstance({ dir, partitionMessagesMax: 3 });
    expect(reopened.queue('q')).toMatchObject({ ready: 0, held: 0 });
  });
});

const wal = (instance: number) => `instance-${instance}.db-wal`;

it('keeps the messages of a queue that the catalog has lost, which is not taken for a dropped queue', async () => {
  const dir = makeFolder();
  const worker = new FaultProcess();
  await worker.open({ dir });
  await worker.create({ name: 'q' });
  await worker.put('q', 'a');
  await worker.kill();
  const copy = copyOf(dir);
  rmSync(join(copy, 'catalog.db-wal'));
  expect(await readOrCode(copy)).toBe('COMMITS_MISSING');
  expect(await readOrCode(dir)).toBe(1);
});
