/** Every planted bug can be edited into the engine's sources. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { plants } from '../selftest/plants.ts';
import { applyEdits, type SourceEdit } from '../selftest/source-edit.ts';

const read = (file: string) => readFileSync(new URL(`../../engine/src/${file}`, import.meta.url), 'utf8');

it('there are at least 25 planted bugs, each with a name of its own', () => {
  expect(plants.length).toBeGreaterThanOrEqual(25);
  expect(new Set(plants.map(({ name }) => name)).size).toBe(plants.length);
});

it.each(plants)('the edits of "$name" can be made', ({ edits }) => {
  for (const [file, ofFile] of Map.groupBy(edits, (edit: SourceEdit) => edit.file)) {
    const source = read(file);
    expect(applyEdits(source, ofFile)).not.toBe(source);
  }
});

it('an edit whose text is missing or occurs twice is refused', () => {
  const edit = (find: string) => [{ file: 'x', find, replace: '' }];
  expect(() => applyEdits('a b b', edit('c'))).toThrow('0 times in x');
  expect(() => applyEdits('a b b', edit('b'))).toThrow('2 times in x');
});
