/** The table of planted bugs fits the engine's sources. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { plants } from '../selftest/plants.ts';
import { applyEdits, type SourceEdit } from '../selftest/source-edit.ts';

const read = (file: string) => readFileSync(new URL(`../../engine/src/${file}`, import.meta.url), 'utf8');

it('has at least 25 planted bugs with names of their own', () => {
  expect(plants.length).toBeGreaterThanOrEqual(25);
  expect(new Set(plants.map(({ name }) => name)).size).toBe(plants.length);
});

it.each(plants)('finds each text of "$name" once', ({ edits }) => {
  for (const [file, ofFile] of Map.groupBy(edits, (edit: SourceEdit) => edit.file)) {
    const source = read(file);
    expect(applyEdits(source, ofFile)).not.toBe(source);
  }
});

it('refuses an edit whose text is missing or there twice', () => {
  const edit = (find: string) => [{ file: 'x', find, replace: '' }];
  expect(() => applyEdits('a b b', edit('c'))).toThrow('0 times in x');
  expect(() => applyEdits('a b b', edit('b'))).toThrow('2 times in x');
});
