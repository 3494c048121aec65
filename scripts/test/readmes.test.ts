/** The README of each package names the folders of its sources and tests, two levels deep, and none that does not exist. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { allowedRooms, readRoomTables } from '../check-rooms.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const packages = globSync('{packages,apps}/*/package.json', { cwd: root }).map(dirname).sort();

/** `src/storage` and `src/storage/sqlite` */
const foldersOf = (name: string): string[] =>
  globSync(['{src,test}/*', '{src,test}/*/*'], { cwd: join(root, name), withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, name).length + 1))
    .sort();

/** A folder is written as a path from the package that ends with a slash: `src/storage/`. */
const namedIn = (name: string): string[] =>
  [...readFileSync(join(root, name, 'README.md'), 'utf8').matchAll(/`((?:src|test)\/[\w./-]+)\/`/g)].map(
    ([, folder]) => folder!,
  );

test.each(packages)('the README of %s names each folder', (name) => {
  const named = new Set(namedIn(name));
  expect(foldersOf(name).filter((folder) => !named.has(folder))).toEqual([]);
});

test.each(packages)('the README of %s names only folders that exist', (name) => {
  expect(namedIn(name).filter((folder) => !existsSync(join(root, name, folder)))).toEqual([]);
});

/** The order of rooms in the README must be the order that is checked. */
test.each(Object.values(readRoomTables()))(
  'the README lists the rooms of $folder from the bottom up',
  (table) => {
    const listed = namedIn(dirname(table.folder)).map((folder) => folder.slice('src/'.length));
    for (const [room, below] of allowedRooms(table)) {
      const isFolder = (name: string) => !name.endsWith('.ts');
      const later = [...below].filter(
        (name) => isFolder(name) && listed.indexOf(name) > listed.indexOf(room),
      );
      expect(isFolder(room) ? later : [], room).toEqual([]);
    }
  },
);
