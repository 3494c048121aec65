/** Every file that a test starts as a process or a thread gets a bundle, so that it loads about 15 modules instead of 200. */
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { expect, it } from 'vitest';
import { findEntries, findImported, findThreads } from '../bundles/entries.mjs';
import { root } from '../run.mjs';

const entries = [...findThreads(), ...findEntries()].map((file: string) => relative(root, file));

it.each([
  ['a thread named by a template', 'packages/engine/src/storage/threads/writer-thread.ts'],
  ['a thread with the extension of its caller', 'packages/lab/src/run/run-thread.ts'],
  ['a process with the extension of its caller', 'packages/engine/src/storage/threads/writer-process.ts'],
  ['a process of a cluster', 'packages/engine/src/cluster/supervisor/instance-process.ts'],
  ['a process of the lab', 'packages/lab/src/programs/queue/trial/instance-worker.ts'],
  ['a process of a test', 'packages/engine/test/faults/fault-worker.ts'],
  ['one whose name is passed to a function', 'packages/engine/test/conversion/convert-process.ts'],
  ['an impostor, imported by an address that a process is sent', 'packages/lab/src/impostors/hosts/array.ts'],
  ['a command line', 'packages/lab/src/cli.ts'],
  ['the server', 'apps/server/src/main.ts'],
  ['a study, imported by an address computed at run time', 'packages/lab/src/studies/white-paper/study.ts'],
])('finds %s', (_, file) => {
  expect(entries).toContain(file);
});

it('finds only files that exist, and no tests', () => {
  expect(entries.filter((file) => !existsSync(`${root}${file}`) || file.endsWith('.test.ts'))).toEqual([]);
  expect(new Set(entries).size).toBe(entries.length);
});

it('finds the modules that tests import, and no file of a test', () => {
  const imported = findImported().map((file: string) => relative(root, file));
  expect(imported).toEqual(
    expect.arrayContaining([
      'packages/engine/src/index.ts',
      'apps/server/src/app.ts',
      'packages/lab/src/index.ts',
    ]),
  );
  expect(imported.filter((file) => !file.includes('/src/') || !existsSync(`${root}${file}`))).toEqual([]);
});
