/** If a log is damaged, cut or missing, all acknowledged commits are found, or the instance reports that some are missing. */
import {
  closeSync,
  copyFileSync,
  cpSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkFolder, openInstance, QueueError, repairFolder } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { FaultProcess } from './fault-process.ts';

/** The folder of a process that was killed after so many enqueues and one dequeue of three messages were acknowledged. */
async function killedAfter(puts: number): Promise<string> {
  const dir = makeFolder();
  const worker = new FaultProcess();
  await worker.open({ dir });
  await worker.create({ name: 'q', shards: 2 });
  for (const end of ['', '-wal']) copyFileSync(join(dir, `instance-1.db${end}`), join(dir, `early.db${end}`));
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

/** Each acknowledged commit is in the redo log until that is written over. */
const redo = 'instance-1.redo-0';
const wal = 'instance-1.db-wal';

const damages: [string, (path: string) => void][] = [
  ['gone', (path) => rmSync(path)],
  ['cut in half', (path) => truncateSync(path, statSync(path).size / 2)],
  ['of no bytes', (path) => truncateSync(path, 0)],
  ['an older one', (path) => copyFileSync(`${path}-older`, path)],
];

/** The folder of a killed process with the messages `a` and `b`; copies of its files from between them are `-older`. */
async function killedBetween(): Promise<string> {
  const dir = makeFolder();
  const worker = new FaultProcess();
  await worker.open({ dir });
  await worker.create({ name: 'q' });
  await worker.close(); // After this the file knows of the redo log without its own.
  await worker.open({ dir });
  await worker.put('q', 'a');
  for (const name of [redo, wal]) copyFileSync(join(dir, name), join(dir, `${name}-older`));
  await worker.put('q', 'b');
  await worker.kill();
  return dir;
}

describe('the redo log of a killed process', () => {
  it('has all of its commits, or is reported to miss some, whichever byte of it changes', {
    timeout: 120_000,
  }, async () => {
    const puts = 40;
    const dir = await killedAfter(puts);
    const used = readFileSync(join(dir, redo)).findLastIndex((byte) => byte !== 0);
    expect(used).toBeGreaterThan(puts * 300);
    const outcomes = new Map<number | string, number>();
    for (let i = 0; i < 40; i += 1) {
      const at = Math.floor((i + 0.37) * (used / 40));
      const copy = copyOf(dir);
      // What is applied is not needed from the log.
      for (const end of ['', '-wal', '-shm']) rmSync(join(copy, `instance-1.db${end}`));
      for (const end of ['', '-wal'])
        copyFileSync(join(dir, `early.db${end}`), join(copy, `instance-1.db${end}`));
      flip(join(copy, redo), at);
      const outcome = await readOrCode(copy);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      rmSync(copy, { recursive: true });
    }
    // Bytes between two records count for nothing.
    expect([...outcomes.keys()].toSorted()).toEqual([puts - 3, 'COMMITS_MISSING']);
    expect(outcomes.get('COMMITS_MISSING')).toBeGreaterThan(20);
  });

  it.each(damages)('is reported when it is %s, by each attempt to open it', async (how, damage) => {
    const dir = await killedBetween();
    damage(join(dir, redo));
    for (let again = 0; again < 2; again += 1) expect(await readOrCode(dir), how).toBe('COMMITS_MISSING');
  });

  it('may lack the last relaxed commits, which are not synced', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir });
    await worker.create({ name: 'q', durability: 'relaxed' });
    await worker.put('q', 'a');
    await worker.put('q', 'b');
    const path = join(dir, redo);
    const lastUsed = readFileSync(path).findLastIndex((byte) => byte !== 0);
    await worker.kill();
    expect(await readOrCode(copyOf(dir))).toBe(2);
    flip(path, lastUsed); // A power cut may leave the log like this.
    expect(await readOrCode(dir)).toBe(1);
  });
});

describe("the tables' own log of a killed process", () => {
  it.each(damages)(
    'when it is %s is of no consequence while the redo log has its groups',
    async (how, damage) => {
      const dir = await killedBetween();
      damage(join(dir, wal));
      expect(await readOrCode(dir), how).toBe(2);
      const instance = await openTestInstance({ dir });
      const session = instance.openSession();
      session.enqueue('q', { payload: 'c' });
      const { ids } = await session.commit();
      expect(Number(ids[0]!.split('.')[1])).toBeGreaterThan(2);
    },
  );

  it('is missed in a new file, which does not know of the redo log without it', async () => {
    const dir = await killedAfter(3);
    rmSync(join(dir, wal));
    expect(await readOrCode(dir)).toBe('COMMITS_MISSING');
  });

  it('loses no commit silently, whichever byte of it changes', { timeout: 120_000 }, async () => {
    const puts = 40;
    const dir = await killedAfter(puts);
    const { size } = statSync(join(dir, wal));
    for (let i = 0; i < 40; i += 1) {
      const copy = copyOf(dir);
      flip(join(copy, wal), Math.floor((i + 0.37) * (size / 40)));
      expect(['COMMITS_MISSING', puts - 3]).toContain(await readOrCode(copy));
      rmSync(copy, { recursive: true });
    }
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
    rmSync(join(dir, redo));
    expect(await readOrCode(dir)).toBe('COMMITS_MISSING');
  });

  const filesOf = (dir: string) => readdirSync(dir).filter((name) => /^instance-1\.(db|ack|redo)/.test(name));

  it('is not created anew if everything of the instance is gone; a repair accepts that', async () => {
    const dir = await killedAfter(3);
    for (const name of filesOf(dir)) rmSync(join(dir, name));
    for (let again = 0; again < 2; again += 1) expect(await readOrCode(dir)).toBe('COMMITS_MISSING');
    expect(filesOf(dir)).toEqual([]);
    expect(checkFolder(dir).faults).toContainEqual(expect.stringContaining('instance-1.db is missing'));
    const { accepted } = repairFolder(dir);
    expect(accepted).toEqual([expect.stringContaining('instance-1.db is missing: the instance begins anew')]);
    expect(await readOrCode(dir)).toBe(0);
    expect(checkFolder(dir).faults).toEqual([]);
  });

  it('is refused if all of the instance is from before its last opening; a repair gives no number twice', async () => {
    const dir = await killedAfter(3);
    const before = copyOf(dir);
    const worker = new FaultProcess();
    await worker.open({ dir });
    const [late] = await worker.put('q', 'late');
    await worker.kill();
    for (const name of filesOf(dir)) rmSync(join(dir, name));
    for (const name of filesOf(before)) copyFileSync(join(before, name), join(dir, name));
    expect(await readOrCode(dir)).toBe('COMMITS_MISSING');
    expect(checkFolder(dir).faults).toEqual([expect.stringContaining('acknowledged commits are missing')]);
    repairFolder(dir);
    const instance = await openTestInstance({ dir });
    const sessions = [instance.openSession(), instance.openSession()];
    const numberOf = (id: string) => Number(id.split('.')[1]);
    for (const session of sessions) {
      session.enqueue('q', { payload: 'new' });
      const { ids } = await session.commit();
      if (ids[0]!.split('.')[0] === late!.split('.')[0])
        expect(numberOf(ids[0]!)).toBeGreaterThan(numberOf(late!));
    }
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
