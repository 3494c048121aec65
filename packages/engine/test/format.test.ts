/** Files of another format, older or newer, are refused and left untouched. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openInstance } from '../src/index.ts';
import { checkInstanceFile } from '../src/storage/instance-file/recovery/check-instance-file.ts';
import { formatVersion } from '../src/storage/sqlite/file-format.ts';
import { makeFolder } from './folder.ts';

const names = ['catalog.db', 'instance-1.db', 'unsharded.db'];

/** A folder with all three files, one of which is marked with another format version. */
async function folderWithFormat(name: string, format: number): Promise<string> {
  const dir = makeFolder();
  const instance = await openInstance({ dir });
  await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
  const session = instance.openSession();
  session.enqueue('jobs', { payload: 'one' });
  await session.commit();
  await instance.close();
  const file = new Database(join(dir, name));
  file.pragma(`user_version = ${format}`);
  file.pragma('wal_checkpoint(TRUNCATE)');
  file.close();
  return dir;
}

/** The error of opening an instance and its unsharded queue. */
async function refusalOf(dir: string): Promise<unknown> {
  try {
    const instance = await openInstance({ dir });
    try {
      instance.openSession().enqueue('jobs', { payload: 'two' });
      instance.queue('jobs');
    } finally {
      await instance.close();
    }
  } catch (error) {
    return error;
  }
  return undefined;
}

it.each(names)('%s of an older format is refused in one sentence and left untouched', async (name) => {
  const older = formatVersion - 1;
  const dir = await folderWithFormat(name, older);
  const before = readFileSync(join(dir, name));
  expect(await refusalOf(dir)).toMatchObject({
    code: 'STORAGE_FORMAT_OLDER',
    message:
      `${join(dir, name)} was written by an earlier development version (format ${older}); this version reads ` +
      `format ${formatVersion}. Export its messages with the version that wrote it, or start with an empty folder`,
    details: { found: older, known: formatVersion },
  });
  expect(readFileSync(join(dir, name)).equals(before)).toBe(true);
});

it.each(names)('%s of a newer format is refused and left untouched', async (name) => {
  const dir = await folderWithFormat(name, formatVersion + 1);
  const before = readFileSync(join(dir, name));
  expect(await refusalOf(dir)).toMatchObject({
    code: 'STORAGE_FORMAT_NEWER',
    message: expect.stringContaining(`was written by a newer version (format ${formatVersion + 1})`),
  });
  expect(readFileSync(join(dir, name)).equals(before)).toBe(true);
});

it('the check of an instance reports the format and reads nothing else', async () => {
  const dir = await folderWithFormat('instance-1.db', formatVersion - 1);
  expect(checkInstanceFile(join(dir, 'instance-1.db'))).toMatchObject({
    partitions: 0,
    faults: [expect.stringContaining('earlier development version')],
  });
});
