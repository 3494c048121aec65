/** Scrubs in slices: each slice is bounded and runs between commits, and together they find what a check of the whole file does. */
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openInstance } from '../../src/index.ts';
import { findCatalogFaults } from '../../src/storage/catalog/catalog-file.ts';
import { scrubCatalog } from '../../src/storage/catalog/scrub-catalog.ts';
import { scrubUnshardedFile } from '../../src/storage/unsharded/scrub-unsharded-file.ts';
import { unshardedPath } from '../../src/storage/unsharded/unsharded-file.ts';
import { findUnshardedFaults } from '../../src/storage/unsharded/unsharded-integrity.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { drawnSeed, isTorture, random } from '../random.ts';
import { overwriteText } from './damage.ts';

/** Number of flipped bits, each in a copy of the file. */
const flips = isTorture ? 200 : 30;
const smallSlices = { wholeBytesMax: -1, rowsMax: 40, bytesMax: 1_000_000 };
const catalogSlices = { wholeBytesMax: -1, rowsMax: 3, beginningsMax: 3 };
/**
 * Findings of SQLite's own check that slices do not make: in unused space, and in those bits of a cell's offset that SQLite never reads,
 * as they exceed the size of a page.
 */
const freeSpace = /fragmentation|freelist|never used|unused|free space|Offset \d+ out of range/i;
/** SQLite stops counting entries at such a fault, and then reports a wrong number of entries too. */
const isAboutFreeSpace = (faults: readonly string[]) =>
  faults.some((fault) => freeSpace.test(fault)) &&
  faults.every((fault) => freeSpace.test(fault) || /wrong # of entries/.test(fault));

async function closedWithContent(): Promise<string> {
  const dir = makeFolder();
  const instance = await openInstance({ dir });
  const session = instance.openSession();
  for (const name of ['a', 'b', 'c']) await instance.createQueue({ name, kind: 'unsharded' });
  for (let i = 0; i < 150; i += 1) {
    for (const name of ['a', 'b', 'c'])
      session.enqueue(name, { payload: `${name}${i};`.padEnd(100 + (i % 7) * 60, '.') });
    await session.commit();
  }
  await instance.createQueue({ name: 'topic', kind: 'unsharded', type: 'topic' });
  for (const name of ['one', 'two', 'three']) await instance.subscribe('topic', { name });
  for (let i = 0; i < 90; i += 1) session.enqueue('topic', { payload: `t${i};`.padEnd(120, '.') });
  await session.commit();
  await session.dequeue('topic', { subscriber: 'one', max: 20 });
  await session.commit();
  for (const name of ['a', 'b']) {
    await session.dequeue(name, { max: 30 });
    await session.commit();
    await session.dequeue(name, { max: 50 });
    await session.rollback();
  }
  await session.close();
  await instance.close();
  return dir;
}

/** Copies of the folder, in each of which one bit of a byte in use is flipped. */
function* damagedCopies(dir: string, file: string, count: number): Generator<{ copy: string; what: string }> {
  const next = random(drawnSeed);
  const original = readFileSync(join(dir, file));
  const used = [...original.keys()].filter((at) => original[at] !== 0);
  const copy = makeFolder();
  for (let round = 0; round < count; round += 1) {
    for (const name of readdirSync(dir)) copyFileSync(join(dir, name), join(copy, name));
    const at = used[Math.floor(next() * used.length)]!;
    const bytes = Buffer.from(original);
    const bit = Math.floor(next() * 8);
    bytes[at] = bytes[at]! ^ (1 << bit);
    writeFileSync(join(copy, file), bytes);
    yield { copy, what: `bit ${bit} of byte ${at} of ${file}, seed ${drawnSeed}` };
  }
}

describe('a scrub in slices', () => {
  it('finds each flipped bit of the unsharded file that a check of the whole file finds', async () => {
    const dir = await closedWithContent();
    const whole = [...scrubUnshardedFile(unshardedPath(dir), smallSlices)];
    expect(whole.flat()).toEqual([]);
    expect(whole.length).toBeGreaterThan((450 + 90 + 250 + 90) / smallSlices.rowsMax);
    let found = 0;
    for (const { copy, what } of damagedCopies(dir, 'unsharded.db', flips)) {
      const faults = findUnshardedFaults(unshardedPath(copy));
      const inSlices = [...scrubUnshardedFile(unshardedPath(copy), smallSlices)].flat();
      if (faults.length === 0) expect(inSlices, what).toEqual([]);
      else if (!isAboutFreeSpace(faults)) {
        expect(inSlices.length, `${what}: ${faults}`).toBeGreaterThan(0);
        found += 1;
      }
    }
    expect(found).toBeGreaterThan(flips / 2);
  });

  it('finds each flipped bit of the catalog that a check of the whole file finds', async () => {
    const dir = await closedWithContent();
    expect([...scrubCatalog(dir, catalogSlices)].flat()).toEqual([]);
    let found = 0;
    for (const { copy, what } of damagedCopies(dir, 'catalog.db', flips)) {
      const faults = findCatalogFaults(copy);
      const inSlices = [...scrubCatalog(copy, catalogSlices)].flat();
      if (faults.length === 0) expect(inSlices, what).toEqual([]);
      else if (!isAboutFreeSpace(faults)) {
        expect(inSlices.length, `${what}: ${faults}`).toBeGreaterThan(0);
        found += 1;
      }
    }
    expect(found).toBeGreaterThan(flips / 4);
  });

  it('of the catalog begins anew after a change, and ends even while changes continue', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    for (let queue = 0; queue < 12; queue += 1) await instance.createQueue({ name: `q${queue}` });
    const undisturbed = [...scrubCatalog(dir, catalogSlices)].length;
    let slices = 0;
    for (const faults of scrubCatalog(dir, catalogSlices)) {
      expect(faults).toEqual([]);
      slices += 1;
      await instance.createQueue({ name: `more${slices}` });
    }
    expect(slices).toBeGreaterThan(10);
    expect(slices).toBeLessThan(3 * undisturbed);
  });

  it('notices messages that stale pages bring back or remove in both table and index', async () => {
    const dir = await closedWithContent();
    const path = unshardedPath(dir);
    const file = new Database(path);
    file.exec('DELETE FROM message WHERE id = 400'); // The totals still count the message, as after a stale page.
    file.close();
    expect([...scrubUnshardedFile(path, smallSlices)].flat()).toEqual([
      expect.stringMatching(/messages of queue \d+ should be stored/),
    ]);
  });

  it('reads 100,000 messages in bounded slices while others are enqueued and consumed', {
    timeout: 120_000,
  }, async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'q', kind: 'unsharded' });
    await instance.createQueue({ name: 'idle', kind: 'unsharded' });
    const session = instance.openSession();
    for (let batch = 0; batch < 10; batch += 1) {
      for (let i = 0; i < 10_000; i += 1)
        session.enqueue(i % 10 === 0 ? 'idle' : 'q', { payload: `${batch}.${i};` });
      await session.commit();
    }
    const commit = async () => {
      for (let i = 0; i < 20; i += 1) session.enqueue('q', { payload: 'new' });
      await session.dequeue('q', { max: 30 });
      await session.commit();
    };
    let slices = 0;
    for (const faults of scrubUnshardedFile(unshardedPath(dir))) {
      expect(faults).toEqual([]);
      slices += 1;
      await commit();
      // No snapshot stays open, so the log can be truncated between any two slices.
      if (slices % 10 === 0) expect(truncatesLog(dir)).toBe(true);
    }
    expect(slices).toBeGreaterThan(100_000 / 4_096);
    await instance.close();
    overwriteText(unshardedPath(dir), '7.7777;');
    expect([...scrubUnshardedFile(unshardedPath(dir))].flat()).toContainEqual(
      expect.stringMatching(/message \d+ of queue \d+ is damaged/),
    );
  });
});

function truncatesLog(dir: string): boolean {
  const file = new Database(unshardedPath(dir));
  try {
    const [{ busy }] = file.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
    return busy === 0;
  } finally {
    file.close();
  }
}
