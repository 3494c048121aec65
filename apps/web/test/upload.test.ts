import { scenarioLimits } from '@shardlab/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toCsv } from '../src/model/data-table.ts';
import { excerptAt, excerptOfLine } from '../src/model/json-excerpt.ts';
import { looksLikeScenario, uploadRejection } from '../src/model/upload-rejection.ts';

const text = `{
  "version": 1,
  "sweep": {
    "threads": [1, 4,
      1000000000],
    "a/b": { "x~y": true }
  }
}`;

test.each([
  ['/version', 2],
  ['/sweep', 3],
  ['/sweep/threads', 4],
  ['/sweep/threads/1', 4],
  ['/sweep/threads/2', 5],
  ['/sweep/a~1b/x~0y', 6],
])('%s is in line %i', (pointer, line) => {
  expect(excerptAt(text, pointer)!.line).toBe(line);
});

test('a missing field is located at the object that lacks it', () => {
  expect(excerptAt(text, '/sweep/instances')!.line).toBe(3);
  expect(excerptAt(text, '/title')!.line).toBe(1);
  expect(excerptAt(text, '')!.line).toBe(1);
});

test('invalid or too deeply nested JSON has no excerpt', () => {
  expect(excerptAt('{ "a": oops }', '/a')).toBeNull();
  expect(excerptAt('['.repeat(100_000) + ']'.repeat(100_000), '/0/0')).toBeNull();
});

test('an excerpt is cut at the ends of the text', () => {
  expect(excerptOfLine('one\ntwo\nthree', 1).lines.map(({ number }) => number)).toEqual([1, 2]);
  expect(excerptOfLine('one\ntwo\nthree', 99).lines.map(({ text: line }) => line)).toEqual([]);
});

test('the line of a key is found in any JSON, as a text search finds it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.nat(), (inner, seed) => {
      const document = { before: inner, [`key${seed}`]: 'here', after: inner };
      const pretty = JSON.stringify(document, null, 2);
      const expected = pretty.split('\n').indexOf(`  "key${seed}": "here",`) + 1;
      fc.pre(expected > 0);
      expect(excerptAt(pretty, `/key${seed}`)!.line).toBe(expected);
    }),
  );
});

test('a CSV file is quoted where necessary, contains no formulas, and has its provenance in each row', () => {
  const table = {
    columns: ['a', 'b,c'],
    rows: [
      ['say "hi"', 1.5],
      ['=1+1', null],
      ['two\nlines', -3],
    ],
  };
  expect(toCsv(table, 'Shardlab, x: measured.')).toBe(
    [
      'a,"b,c",Provenance\r\n',
      '"say ""hi""",1.5,"Shardlab, x: measured."\r\n',
      '\'=1+1,,"Shardlab, x: measured."\r\n',
      '"two\nlines",-3,"Shardlab, x: measured."\r\n',
    ].join(''),
  );
});

test('what is pasted is sent only if it may be a scenario, and nothing is that is too large for one', () => {
  expect(['{}', ' \n{"a": [1]}\n', '{\n  "version": 2\n}'].map(looksLikeScenario)).toEqual([
    true,
    true,
    true,
  ]);
  const others = ['my password', '', '[1]', 'see {"a":1}', '<p>{}</p>'];
  expect(others.map(looksLikeScenario)).toEqual(others.map(() => false));
  expect(uploadRejection('a.json', scenarioLimits.bytesMax)).toBeNull();
  expect(uploadRejection('Pasted text', scenarioLimits.bytesMax + 1)).toMatch(
    /^Pasted text is too large for a scenario: [\d,]+ KiB \(limit [\d,]+ KiB\)$/,
  );
});
