import { median, ratioInterval, spread, studentT95 } from '@shardlab/model';
import { describe, expect, test } from 'vitest';

describe('summaries of repeats', () => {
  test('the median of an even count is the mean of the middle two', () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  test('one repeat shows no spread', () => {
    expect(spread([7])).toBeNull();
    expect(spread([7, 3, 5])).toEqual([3, 7]);
  });

  test('equal ratios in every repeat give an interval of no width', () => {
    const interval = ratioInterval([10, 20, 40], [5, 10, 20])!;
    expect(interval[0]).toBeCloseTo(2, 10);
    expect(interval[1]).toBeCloseTo(2, 10);
  });

  test('a ratio and its inverse have inverse intervals', () => {
    const forward = ratioInterval([9, 10, 12], [10, 10, 10])!;
    const back = ratioInterval([10, 10, 10], [9, 10, 12])!;
    expect(1 / back[1]).toBeCloseTo(forward[0], 10);
    expect(1 / back[0]).toBeCloseTo(forward[1], 10);
  });

  test('two repeats give their range; one, or a rate of zero, gives none', () => {
    expect(ratioInterval([1, 3], [2, 2])!.map((value) => value.toFixed(6))).toEqual(['0.500000', '1.500000']);
    expect(ratioInterval([1], [2])).toBeNull();
    expect(ratioInterval([0, 1, 2], [1, 1, 1])).toBeNull();
    expect(ratioInterval([1, 1, 1], [0, 1, 1])).toBeNull();
  });

  test("Student's t falls from 12.7 towards 1.96", () => {
    expect(studentT95(1)).toBe(12.706);
    expect(studentT95(30)).toBe(2.042);
    expect(studentT95(120)).toBeCloseTo(1.98, 2);
    expect(studentT95(0)).toBe(Number.POSITIVE_INFINITY);
  });
});
