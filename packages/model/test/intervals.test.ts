import { meanInterval, median, repeatsMin, studentT95, welchRatioInterval } from '@shardlab/model';
import { describe, expect, test } from 'vitest';

const five = [9, 10, 12, 10, 11];

describe('summaries of repeats', () => {
  test('the median of an even count is the mean of the middle two', () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  test('fewer than five repeats have no interval, however close they are', () => {
    expect(repeatsMin).toBe(5);
    for (const count of [0, 1, 2, 3, 4]) expect(meanInterval(Array(count).fill(7))).toBeNull();
    expect(meanInterval([7, 7, 7, 7, 7])!.map((bound) => bound.toFixed(9))).toEqual([
      '7.000000000',
      '7.000000000',
    ]);
  });

  test('positive values get the interval of their geometric mean, so that inverses have inverse intervals', () => {
    const forward = meanInterval(five)!;
    const back = meanInterval(five.map((value) => 1 / value))!;
    expect(1 / back[1]).toBeCloseTo(forward[0], 10);
    expect(1 / back[0]).toBeCloseTo(forward[1], 10);
  });

  test('five values around zero get the interval of their mean, ±2.776 standard errors', () => {
    const [low, high] = meanInterval([-2, -1, 0, 1, 2])!;
    expect(high).toBeCloseTo((2.776 * Math.sqrt(2.5)) / Math.sqrt(5), 6);
    expect(low).toBeCloseTo(-high, 10);
    expect(meanInterval([1, 2, 3, 4, Number.NaN])).toBeNull();
  });

  test('values that were not measured together are compared with Welch’s interval of their logs', () => {
    const [low, high] = welchRatioInterval(
      five.map((value) => 2 * value),
      [...five, ...five],
    )!;
    expect(low).toBeGreaterThan(1.7);
    expect(low).toBeLessThan(2);
    expect(high).toBeGreaterThan(2);
    expect(high).toBeLessThan(2.4);
    // With equal variances and counts the degrees of freedom add up to eight, for which Student's t is 2.306.
    const logs = five.map(Math.log);
    const mean = logs.reduce((sum, value) => sum + value, 0) / 5;
    const variance = logs.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 4;
    expect(Math.log(welchRatioInterval(five, five)![1])).toBeCloseTo(
      2.306 * Math.sqrt((2 * variance) / 5),
      6,
    );
    expect(welchRatioInterval(five, five.slice(1))).toBeNull();
    expect(welchRatioInterval(five, [0, ...five])).toBeNull();
    expect(welchRatioInterval([4, 4, 4, 4, 4], [2, 2, 2, 2, 2])!.map((bound) => bound.toFixed(6))).toEqual([
      '2.000000',
      '2.000000',
    ]);
  });

  test("Student's t falls from 12.7 towards 1.96", () => {
    expect(studentT95(1)).toBe(12.706);
    expect(studentT95(30)).toBe(2.042);
    expect(studentT95(120)).toBeCloseTo(1.98, 2);
    expect(studentT95(0)).toBe(Number.POSITIVE_INFINITY);
  });
});
