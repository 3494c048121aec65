/** `npm start` decides by these fingerprints what to skip on a second start. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { root } from '../run.mjs';
import { fingerprint } from '../stamp.mjs';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shardlab-stamp-'));
  path = relative(root, folder);
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'a.ts'), 'a');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('the print of a folder follows contents and names, however deep', () => {
  const prints = [fingerprint(path)];
  writeFileSync(join(folder, 'src', 'a.ts'), 'b');
  prints.push(fingerprint(path));
  writeFileSync(join(folder, 'src', 'b.ts'), '');
  prints.push(fingerprint(path));
  expect(new Set(prints).size).toBe(3);
});

test('writing the same again, built files and tests leave it alone', () => {
  const before = fingerprint(path);
  writeFileSync(join(folder, 'src', 'a.ts'), 'a');
  for (const skipped of ['dist', 'node_modules', 'test']) {
    mkdirSync(join(folder, skipped));
    writeFileSync(join(folder, skipped, 'x'), 'x');
  }
  expect(fingerprint(path)).toBe(before);
});

test('a path that is not there counts as empty', () => {
  expect(fingerprint(join(path, 'absent'))).toBe(fingerprint());
});
