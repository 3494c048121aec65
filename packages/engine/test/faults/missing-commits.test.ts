/** Logs that are damaged, cut or gone: acknowledged commits are there, or the instance says that they are not. */
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
import { makeFolder, openTestInstance } from '../folder.ts';
import { FaultProcess } from './fault-process.ts';

/** The folder of a process that was killed after these puts and one take of 3 were acknowledged. */
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

/** What is ready, or the code of the typed error. */
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

  it('is reported as damaged wherever a byte changes, or the change is harmless', {
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
    // Every frame belongs to an acknowledged commit or to the ones after it.
    expect([...outcomes.keys()]).toEqual(['COMMITS_MISSING']);
  });

  it.each([
    ['gone', (path: string) => rmSync(path)],
    ['cut in half', (path: string) => truncateSync(path, statSync(path).size / 2)],
    ['of no bytes', (path: string) => truncateSync(path, 0)],
    ['an older one', (path: string) => copyFileSync(`${path}-older`, path)],
  ])('is told when it is %s, and is left as it was', async (how, damage) => {
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

  it('may be damaged behind the last acknowledged commit', async () => {
    const dir = await killedAfter(10);
    const path = join(dir, wal);
    truncateSync(path, statSync(path).size + 40_000); // a commit that was on its way
    expect(await readOrCode(dir)).toBe(7);
  });

  it('is not asked for more than relaxed commits promise', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'q', durability: 'relaxed' });
    await worker.put('q', 'a');
    await worker.put('q', 'b');
    await worker.kill();
    expect(await readOrCode(copyOf(dir))).toBe(2);
    const path = join(dir, wal);
    truncateSync(path, statSync(path).size - 100); // what a power cut may leave
    expect(await readOrCode(dir)).toBe(1);
  });
});

describe('an instance file', () => {
  it('that is missing while commits to it were acknowledged is not made anew', async () => {
    const dir = await killedAfter(3);
    for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `instance-1.db${end}`));
    expect(await readOrCode(dir)).toBe('COMMITS_MISSING');
  });

  it('opens without the file of the last acknowledged group, and writes it from then on', async () => {
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

  it('closed in order has all of its commits, whatever groups changed the pool', async () => {
    const dir = makeFolder();
    for (let round = 0; round < 4; round += 1) {
      const instance = await openTestInstance({ dir, partitionMessagesMax: 3 });
      if (round === 0) await instance.createQueue({ name: 'q' });
      const session = instance.openSession();
      for (let i = 0; i < 20; i += 1) {
        session.enqueue('q', { payload: `${i}` });
        await session.commit();
      }
      for (let found = 0; found < 20; ) found += (await session.dequeue('q', { max: 20 })).length;
      await session.commit();
      await instance.close();
    }
  });
});

const wal = (instance: number) => `instance-${instance}.db-wal`;

it('messages of a queue that the catalog lost are kept, not taken for those of a dropped queue', async () => {
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
