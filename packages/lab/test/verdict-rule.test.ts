/** The rule of docs/decisions/verdicts.md: what repeats decide, and how clauses become one verdict. */
import type { ClaimClause, Verdict } from '@shardlab/contract';
import { median } from '@shardlab/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clauseOf, singleRepeatNoise, verdictOf } from '../src/judging/clause.ts';
import { combine, verdictOfConditions, verdictOfStatements } from '../src/judging/combine.ts';
import { combined, ratioOf, sampleOf } from '../src/judging/sample.ts';

const over = (bar: number) => ({ bar, wanted: 'over' }) as const;
const verdict = (repeats: number[], bar = 1) => verdictOf(sampleOf(repeats), over(bar));

describe('what repeats decide', () => {
  test('five decide by their interval, and only if it does not contain the bar', () => {
    expect(verdict([1.02, 1.03, 1.02, 1.04, 1.03])).toBe('holds');
    expect(verdict([0.97, 0.98, 0.97, 0.96, 0.98])).toBe('does-not-hold');
    expect(verdict([1.3, 0.9, 1.2, 0.95, 1.1])).toBe('inconclusive');
    expect(verdict([])).toBe('inconclusive');
    expect(verdict(Array(5).fill(Number.NaN))).toBe('inconclusive');
  });

  test('fewer than five decide only if all are on one side of the bar, further from it than the noise of a single repeat', () => {
    expect(verdict([1.25])).toBe('holds');
    expect(verdict([1.19])).toBe('inconclusive');
    expect(verdict([1.02, 1.03, 1.02, 1.04])).toBe('inconclusive');
    expect(verdict([1.5, 1.6, 0.99])).toBe('inconclusive');
    expect(verdict([0.5, 0.6])).toBe('does-not-hold');
    const small = verdictOf(sampleOf([1.05, 1.06]), { ...over(1), noise: 0.02 });
    expect(small).toBe('holds');
  });

  test('two or three repeats close to the bar decide nothing', () => {
    for (const repeats of [[4.7], [4.02, 4.05], [4.02, 4.05, 4.3]])
      expect(verdict(repeats, 4)).toBe('inconclusive');
    expect(verdict([4.12, 4.15, 4.3, 4.2, 4.1], 4)).toBe('holds');
  });

  test('repeats that were not steady are left out if five steady ones remain, and the reason says so in both cases', () => {
    const [steady, drifting] = [
      [1.02, 1.03, 1.02, 1.04, 1.03],
      [0.5, 0.4],
    ];
    const clauseOver = (repeats: number[], notSteady: boolean[]) =>
      clauseOf({
        statement: '',
        unit: '',
        sample: sampleOf(repeats, notSteady),
        over: 1,
        provenance: 'measured',
      });
    const flags = [...steady.map(() => false), true, true];
    expect(clauseOver([...steady, ...drifting], flags)).toMatchObject({
      verdict: 'holds',
      repeats: 5,
      reason: 'Needed: more than 1. 2 of 7 repeats were not steady; they are left out.',
    });
    expect(clauseOver(steady, [true, false, false, false, false])).toMatchObject({
      verdict: 'holds',
      repeats: 5,
      reason: 'Needed: more than 1. 1 of 5 repeats was not steady; it is judged with the others.',
    });
    expect(clauseOver(drifting, [true, true]).reason).toContain('None of its 2 repeats was steady.');
    const ratio = ratioOf(sampleOf(steady), sampleOf([1, 1, 1, 1, 1], [false, true, false, false, false]));
    expect(ratio.notSteady).toEqual([false, true, false, false, false]);
  });

  test('a ratio is computed for each repeat, so that a slow phase of the machine cancels out', () => {
    const rounds = [1, 0.5, 0.8, 1.1, 0.6];
    const ratio = ratioOf(sampleOf(rounds.map((speed) => 1.1 * speed)), sampleOf(rounds));
    expect(verdictOf(ratio, over(1))).toBe('holds');
    expect(combined([sampleOf([1, 2, 3]), sampleOf([1, 1])], ([a, b]) => a! / b!).repeats).toEqual([1, 2]);
    const apart = ratioOf(sampleOf([2, 2, 2, 2, 2, 2]), sampleOf([1, 1, 1, 1, 1]));
    expect(apart.value).toBeCloseTo(2);
    expect(apart.interval![0]).toBeCloseTo(2);
  });

  const positive = fc.double({ min: 0.1, max: 10, noNaN: true });
  const few = fc.array(positive, { minLength: 1, maxLength: 4 });

  test('fewer than five are always provisional, five and more never', () => {
    fc.assert(
      fc.property(fc.array(positive, { minLength: 1, maxLength: 9 }), (repeats) => {
        const clause = clauseOf({
          statement: '',
          unit: '',
          sample: sampleOf(repeats),
          over: 1,
          provenance: 'measured',
        });
        expect(clause.provisional).toBe(repeats.length < 5);
        expect(clause.interval === null).toBe(repeats.length < 5);
      }),
    );
  });

  test('a provisional verdict stays when a repeat equal to the median is added, as long as it is provisional', () => {
    fc.assert(
      fc.property(fc.array(positive, { minLength: 1, maxLength: 3 }), (repeats) => {
        expect(verdict([...repeats, median(repeats)])).toBe(verdict(repeats));
      }),
    );
  });

  test('further repeats never reverse a verdict, and fewer than five equal repeats decide what one of them decides', () => {
    fc.assert(
      fc.property(few, few, (some, more) => {
        fc.pre(some.length + more.length < 5);
        const [first, all] = [verdict(some), verdict([...some, ...more])];
        if (first !== 'inconclusive' && all !== 'inconclusive') expect(all).toBe(first);
        // Equal repeats decide the same, for any number of them below five.
        const equal = Array(some.length).fill(median(some));
        expect(verdict([...equal, median(some)])).toBe(verdict(equal));
      }),
    );
  });

  test('from five on, a repeat equal to the mean never makes a decided verdict undecided', () => {
    fc.assert(
      fc.property(fc.array(positive, { minLength: 5, maxLength: 12 }), (repeats) => {
        const before = verdict(repeats);
        if (before !== 'inconclusive') expect(verdict([...repeats, sampleOf(repeats).value])).toBe(before);
      }),
    );
  });

  test('the noise of a single repeat is a fifth', () => {
    expect(singleRepeatNoise).toBe(0.2);
  });
});

const all: readonly Verdict[] = ['holds', 'mixed', 'does-not-hold', 'inconclusive', 'not-comparable'];

/** What two verdicts combine to, as a table with a letter each (H, M, f, i, n); rows and columns are in the order of `all`. */
const table = (combineTwo: (verdicts: readonly Verdict[]) => Verdict) =>
  all.map((row) => all.map((column) => letter[combineTwo([row, column])]).join('')).join(' ');
const letter: Readonly<Record<Verdict, string>> = {
  holds: 'H',
  mixed: 'M',
  'does-not-hold': 'f',
  inconclusive: 'i',
  'not-comparable': 'n',
};

describe('how clauses become one verdict', () => {
  test('statements under one condition must all hold, so the worst decides', () => {
    expect(table(verdictOfStatements)).toBe('HMfin MMfMM fffff iMfii nMfin');
  });

  test('verdicts under several conditions are mixed if one holds and another fails; not comparable ones are ignored', () => {
    expect(table(verdictOfConditions)).toBe('HMMiH MMMMM MMfff iMfii HMfin');
  });

  test('the order of clauses does not matter', () => {
    const some = fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(some, (verdicts) => {
        for (const combineAll of [verdictOfStatements, verdictOfConditions])
          expect(combineAll(verdicts.toReversed())).toBe(combineAll(verdicts));
      }),
    );
  });

  const clause = (change: Partial<ClaimClause>): ClaimClause => ({
    condition: null,
    statement: 'it rises',
    verdict: 'holds',
    value: 1,
    unit: 'slope',
    interval: [0.9, 1.1],
    repeats: 5,
    provenance: 'measured',
    provisional: false,
    reason: 'Slope 1.',
    ...change,
  });

  test('a claim that holds under one condition and fails under another has a reason with both, and the value that fails', () => {
    const result = combine([
      clause({ condition: 'with a 1 ms round trip, emulated', provenance: 'emulated' }),
      clause({ condition: 'as it is' }),
      clause({
        condition: 'as it is',
        statement: 'adding instances does not lower it',
        verdict: 'does-not-hold',
        value: 0.26,
        interval: [0.2, 0.3],
        reason: 'The rate falls by 74 % from 2 to 4 instances.',
      }),
    ]);
    expect(result).toMatchObject({
      verdict: 'mixed',
      value: 0.26,
      interval: [0.2, 0.3],
      provenance: 'emulated',
      provisional: false,
      repeats: 5,
    });
    expect(result.reason).toBe(
      'With a 1 ms round trip, emulated: holds. It rises: Slope 1. As it is: does not hold. Adding instances does not lower it: The rate falls by 74 % from 2 to 4 instances.',
    );
  });

  test('the verdict is provisional if a clause is, and has the fewest repeats of the compared clauses', () => {
    expect(
      combine([
        clause({}),
        clause({ repeats: 2, provisional: true, interval: null }),
        clause({ condition: 'open loop', verdict: 'not-comparable', repeats: 0 }),
      ]),
    ).toMatchObject({ verdict: 'holds', provisional: true, repeats: 2 });
  });
});
