import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countAtOrAbove, countShared, SequenceSet, uniteInto } from '../src/integrity/sequence-set.ts';

const numbers = fc.uniqueArray(fc.nat(5_000), { maxLength: 200 });

function setOf(values: readonly number[]): SequenceSet {
  const set = new SequenceSet();
  for (const value of values) set.add(value);
  return set;
}

describe('a set of sequence numbers', () => {
  test('distinguishes a new number from a known one', () => {
    const set = new SequenceSet();
    expect([set.add(31), set.add(32), set.add(31), set.add(1_000_000), set.add(0), set.add(0)]).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
  });

  test('agrees with an ordinary set on union, intersection and bounds', () => {
    fc.assert(
      fc.property(numbers, numbers, fc.nat(5_200), (a, b, bound) => {
        const [wordsA, wordsB] = [setOf(a).words(), setOf(b).words()];
        expect(countShared(wordsA, wordsB)).toBe(a.filter((value) => b.includes(value)).length);
        expect(countAtOrAbove(wordsA, bound)).toBe(a.filter((value) => value >= bound).length);
        const union = uniteInto(wordsA.slice(), wordsB);
        expect(countShared(union, union)).toBe(new Set([...a, ...b]).size);
      }),
    );
  });
});
