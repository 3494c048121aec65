import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { locateJsonError } from '../src/scenario/locate-json-error.ts';

describe('where a text stops being JSON', () => {
  test.each([
    ['', 1, 1, 'a value'],
    ['{', 1, 2, 'a field name in double quotes or "}"'],
    ['{"a" 1}', 1, 6, '":" after the field name'],
    ['{"a": 1,}', 1, 9, 'a field name in double quotes'],
    ['[1 2]', 1, 4, '"," or "]"'],
    ['[1,]', 1, 4, 'a value'],
    ['{"a": 01}', 1, 8, '"," or "}"'],
    ["{'a': 1}", 1, 2, 'a field name in double quotes or "}"'],
    ['{} {}', 1, 4, 'nothing more'],
    ['["a\nb"]', 1, 2, 'a value or "]"'],
    ['{\n "a": [\n  tru\n]}', 3, 3, 'a value or "]"'],
  ])('%j', (text, line, column, expected) => {
    expect(locateJsonError(text)).toMatchObject({
      line,
      column,
      message: expect.stringContaining(`expected ${expected}`),
    });
  });

  test('finds a fault exactly in the texts that JSON.parse refuses', () => {
    const mangled = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '0', '\\', ' ', 'x'))
      .map(([text, at, char]) => {
        const position = at % (text.length + 1);
        return text.slice(0, position) + char + text.slice(position + 1);
      });
    fc.assert(
      fc.property(fc.oneof(fc.json(), mangled, fc.string()), (text) => {
        expect(locateJsonError(text) === null).toBe(isJson(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
