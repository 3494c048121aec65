/** A recipient row with a damaged key is out of order in the table. Checks in slices find it like a check of all rows. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openInstance } from '../../src/index.ts';
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts';
import { findRecipientFaults, type RecipientPlace } from '../../src/storage/unsharded/topic-integrity.ts';
import { unshardedPath } from '../../src/storage/unsharded/unsharded-file.ts';
import { makeFolder } from '../folder.ts';
import { drawnSeed, isTorture, random } from '../random.ts';

const flips = isTorture ? 4_000 : 150;
const rowsOfSlice = 40;

async function fileWithRecipients(): Promise<string> {
  const dir = makeFolder();
  const instance = await openInstance({ dir });
  const session = instance.openSession();
  await instance.createQueue({ name: 'topic', kind: 'unsharded', type: 'topic' });
  for (const name of ['one', 'two', 'three']) await instance.subscribe('topic', { name });
  for (let i = 0; i < 600; i += 1) session.enqueue('topic', { payload: 'x' });
  await session.commit();
  await session.dequeue('topic', { subscriber: 'one', max: 20 });
  await session.commit();
  await session.close();
  await instance.close();
  return unshardedPath(dir);
}

/** Positions in the file of the bytes of the table that are not 0. */
function placesInUse(path: string, bytes: Buffer): number[] {
  const file = new Database(path, { readonly: true });
  const pageBytes = file.pragma('page_size', { simple: true }) as number;
  const pages = file.prepare("SELECT pageno FROM dbstat WHERE name = 'recipient'").pluck().all() as number[];
  file.close();
  return pages.flatMap((page) =>
    Array.from({ length: pageBytes }, (_, index) => (page - 1) * pageBytes + index).filter(
      (at) => bytes[at] !== 0,
    ),
  );
}

/** The faults that `find` reports for the file, or the error with which it cannot be read. */
function faultsOf(path: string, find: (file: ReturnType<typeof openSqlite>) => string[]): string[] {
  const file = openSqlite({ path, readonly: true });
  try {
    return find(file);
  } catch (error) {
    return [(error as Error).message];
  } finally {
    file.close();
  }
}

function inSlices(file: ReturnType<typeof openSqlite>): string[] {
  const faults: string[] = [];
  let after: RecipientPlace | undefined;
  do {
    const slice = findRecipientFaults(file, after, rowsOfSlice);
    faults.push(...slice.faults);
    after = slice.end;
  } while (after !== undefined);
  return faults;
}

const atOnce = (file: ReturnType<typeof openSqlite>) =>
  findRecipientFaults(file, undefined, Number.MAX_SAFE_INTEGER).faults;

it('a check in slices finds a fault whenever a check of all recipient rows at once does', async () => {
  const path = await fileWithRecipients();
  const bytes = readFileSync(path);
  const places = placesInUse(path, bytes);
  expect(faultsOf(path, inSlices)).toEqual([]);
  const copy = join(makeFolder(), 'copy.db');
  copyFileSync(path, copy);
  const next = random(drawnSeed);
  let found = 0;
  for (let round = 0; round < flips; round += 1) {
    const at = places[Math.floor(next() * places.length)]!;
    const bit = Math.floor(next() * 8);
    const damaged = Buffer.from(bytes);
    damaged[at] = damaged[at]! ^ (1 << bit);
    writeFileSync(copy, damaged);
    if (faultsOf(copy, atOnce).length === 0) continue;
    found += 1;
    expect(faultsOf(copy, inSlices), `bit ${bit} of byte ${at}, seed ${drawnSeed}`).not.toEqual([]);
  }
  expect(found).toBeGreaterThan(flips / 2);
});
