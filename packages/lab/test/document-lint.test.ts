/** The lint of documents: its rules, and what it finds in each document. */
import { bundledStudies } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import type { DocumentNumbers, Statement } from '../src/document-lint/document-numbers.ts';
import { lintDocument } from '../src/document-lint/lint-document.ts';

const of = { claims: ['X1'], what: 'it' };
const slipsOf = (numbers: DocumentNumbers) => lintDocument([numbers]).map(({ slip }) => slip);
const stated = (value: number, unit: Statement['unit'], bound?: Statement['bound']): Statement => ({
  where: 'here',
  value,
  unit,
  ...(bound === undefined ? {} : { bound }),
});
const same = (...statements: Statement[]) => slipsOf({ kind: 'same', ...of, stated: statements });

describe('the lint finds', () => {
  it('one quantity stated with two values, whatever their units', () => {
    expect(same(stated(0.08, 's'), stated(8, 'ms'))).toEqual(['0.08 s (here), but 8 ms (here): 10 × apart']);
    expect(same(stated(0.08, 's'), stated(80, 'ms'), stated(0.082, 's'))).toEqual([]);
    expect(same(stated(1_441, 'count'), stated(1_426, 'count'))).toHaveLength(1);
    expect(() => same(stated(1, 's'), stated(8, 'count'))).toThrow(RangeError);
  });

  it.each([
    [stated(150_000, 'perSec'), stated(500_000_000, 'perHour', 'over'), 0],
    [stated(100_000, 'perSec'), stated(500_000_000, 'perHour', 'over'), 1],
    [stated(100, 'ms', 'over'), stated(95, 'ms'), 0],
    [stated(100, 'ms', 'over'), stated(80, 'ms'), 1],
    [stated(100, 'ms', 'under'), stated(80, 'ms'), 0],
    [stated(100, 'ms', 'under'), stated(120, 'ms'), 1],
  ])('bounds that are broken: %j and %j', (a, b, slips) => {
    expect(same(a, b)).toHaveLength(slips);
    expect(same(b, a)).toHaveLength(slips);
  });

  it('a longest wait that is shorter than the mean', () => {
    const waits = (longest: Statement) =>
      slipsOf({ kind: 'waits', ...of, waits: 1_001, total: stated(21.59, 's'), longest });
    expect(waits(stated(8, 'ms'))).toEqual([
      'the longest is 8 ms (here), but 21.59 s over 1,001 waits (here) is a mean of 21.6 ms',
    ]);
    expect(waits(stated(80, 'ms'))).toEqual([]);
  });

  it('a rate that counts other things in a later run', () => {
    const runs = [
      { where: 'C2', perSec: 60, elapsedS: 32.5, done: 2_000 },
      { where: 'C3', perSec: 200, elapsedS: 5.06, done: 2_000 },
    ];
    expect(slipsOf({ kind: 'rates', ...of, runs })).toEqual([
      '60 /s (C2) counts 1 of what was done as one, 200 /s (C3) counts 2: 3.33 × by the rates, 6.42 × by the time',
    ]);
    const same = [runs[0]!, { ...runs[1]!, perSec: 400 }];
    expect(slipsOf({ kind: 'rates', ...of, runs: same })).toEqual([]);
  });

  it('totals that are extrapolated, unless one of them was counted', () => {
    const rows = [1, 2, 4].map((parts) => ({ where: `${parts}`, one: 10, parts, total: 10 * parts }));
    expect(slipsOf({ kind: 'totals', ...of, rows })).toHaveLength(1);
    expect(
      slipsOf({ kind: 'totals', ...of, rows: [...rows, { where: '8', one: 10, parts: 8, total: 79 }] }),
    ).toEqual([]);
  });

  it('sums and differences that are wrong', () => {
    const sum = (total: number) => slipsOf({ kind: 'sum', ...of, where: 'here', parts: [1, 2], sum: total });
    expect([sum(3), sum(4)]).toEqual([[], ['1 + 2 is 3, not 4 (here)']]);
    const difference = (to: number) =>
      slipsOf({
        kind: 'difference',
        ...of,
        from: stated(35.3, 's'),
        to: stated(to, 's'),
        stated: stated(3, 's'),
      });
    expect([difference(38.5), difference(39.4)]).toEqual([
      [],
      ['39.4 s (here) less 35.3 s (here) is 4.1 s, not 3 s (here)'],
    ]);
  });
});

it('the lint finds exactly these errors in the documents', () => {
  const { studies } = bundledStudies.describe();
  const found = studies.map(({ id, slips }) => [
    id,
    slips.map(({ claims, slip }) => `${claims.join(', ')}: ${slip}`),
  ]);
  expect(Object.fromEntries(found.filter(([, slips]) => slips!.length > 0))).toEqual({
    xa: [
      'X1: 0.08 s (its table), but 8 ms (its summary): 10 × apart',
      'X1: the longest is 8 ms (its summary), but 21.59 s over 1,001 waits (its table) is a mean of 21.6 ms',
      'X1: 0.42 s (its table), but 42 ms (its summary): 10 × apart',
      'X2, X3: 60 /s (test C2) counts 1 of what was done as one, 200 /s (test C3) counts 2: 3.33 × by the rates, 6.43 × by the time',
      'X4: 1.08 s (its table), but 1.27 s (its summary): 1.18 × apart',
      'X5: 39.402 s (C6) less 35.347 s (C5) is 4.05 s, not 3 s (summary of C6)',
    ],
    listen: [
      'L1: every total is one part multiplied, so nothing was summed: 667 × 64 = 42,688 (64 sessions)',
      'L1: 1,441 (its table), but 1,426 (the detail by session): 1.01 × apart',
      'L6: 388 (its table), but 768 (12 · N): 1.98 × apart',
      'L10: 1 s (its text), but 3 s (its trace, {3, 0}): 3 × apart',
    ],
  });
  for (const { claims, slips } of studies)
    for (const slip of slips) expect(claims).toEqual(expect.arrayContaining(slip.claims));
});
