/** Base64 is recognized by decoding, which is faster than the contract's pattern and must agree with it. */
import { patterns } from '@shardlab/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBase64 } from '../src/http/base64-text.ts';

const base64Pattern = patterns.base64.pattern;
const pattern = new RegExp(base64Pattern);

test('the encoding of any number of bytes is base64', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 700 }), (bytes) => {
      expect(isBase64(Buffer.from(bytes).toString('base64'))).toBe(true);
    }),
  );
});

test('any text is base64 if and only if the pattern matches', () => {
  const unit = fc.constantFrom(...'AQgwcz09+/=-_ \n\u00e9\u0141\u20ac\u{1f600}');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
      expect(isBase64(text), JSON.stringify(text)).toBe(pattern.test(text));
    }),
    { numRuns: 5_000 },
  );
});

test.each([
  '',
  'QQ==',
  'QUE=',
  'QUFB',
  'QR==',
  'QUF=',
  'QQ=',
  'Q===',
  '====',
  'QQ==QUFB',
  'QU-_',
  'QU B',
  'QUFB\n',
  '\u0141UFB',
])('%j is decided as by the pattern', (text) => {
  expect(isBase64(text)).toBe(pattern.test(text));
});

test('a text that is too long to be decoded is checked by the pattern', () => {
  const long = 'QUFB'.repeat(100_000);
  expect([isBase64(long), isBase64(`${long}!`), isBase64(`${long}QR==`)]).toEqual([true, false, false]);
});
