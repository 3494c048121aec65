/** Fingerprints of files, by which `npm start` decides which steps to skip. */
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

test('the fingerprint of a folder changes with the contents and names of files at any depth', () => {
  const prints = [fingerprint(path)];
  writeFileSync(join(folder, 'src', 'a.ts'), 'b');
  prints.push(fingerprint(path));
  writeFileSync(join(folder, 'src', 'b.ts'), '');
  prints.push(fingerprint(path));
  expect(new Set(prints).size).toBe(3);
});

test('the fingerprint does not change with equal contents, built files or tests', () => {
  const before = fingerprint(path);
  writeFileSync(join(folder, 'src', 'a.ts'), 'a');
  for (const skipped of ['dist', 'node_modules', 'test']) {
    mkdirSync(join(folder, skipped));
    writeFileSync(join(folder, skipped, 'x'), 'x');
  }
  expect(fingerprint(path)).toBe(before);
});

test('a missing path counts as empty', () => {
  expect(fingerprint(join(path, 'absent'))).toBe(fingerprint());
});
