import { fitLogLog } from '@shardlab/model';
import { describe, expect, test } from 'vitest';

describe('log-log fit', () => {
  test('finds slope and factor of an exact power law, with no deviation', () => {
    const fit = fitLogLog([1, 2, 4, 8, 16].map((x) => ({ x, y: 300 * x ** 0.8 })))!;
    expect(fit.slope).toBeCloseTo(0.8, 10);
    expect(fit.factor).toBeCloseTo(300, 6);
    expect(fit.r2).toBeCloseTo(1, 10);
    expect(fit.worstDeviation).toBeCloseTo(0, 10);
    expect(fit.slopeInterval![0]).toBeCloseTo(0.8, 6);
  });

  test('a curve that saturates deviates from the line, and its slope is uncertain', () => {
    const fit = fitLogLog([1, 2, 4, 8, 16, 32].map((x) => ({ x, y: Math.min(1000 * x, 4000) })))!;
    expect(fit.slope).toBeLessThan(0.6);
    expect(fit.worstDeviation).toBeGreaterThan(0.3);
    expect(fit.slopeInterval![1] - fit.slopeInterval![0]).toBeGreaterThan(0.2);
  });

  test('matches a hand-computed interval', () => {
    // ln y = 0, 1, 1 over ln x = 0, 1, 2: slope 0.5, residual squares 1/6, standard error sqrt(1/12), t(1) = 12.706.
    const fit = fitLogLog([
      { x: 1, y: 1 },
      { x: Math.E, y: Math.E },
      { x: Math.E ** 2, y: Math.E },
    ])!;
    expect(fit.slope).toBeCloseTo(0.5, 10);
    expect(fit.slopeInterval![1] - 0.5).toBeCloseTo(12.706 * Math.sqrt(1 / 12), 6);
  });

  test('two points give a slope without an interval; one point, or points of one x only, give nothing', () => {
    expect(
      fitLogLog([
        { x: 1, y: 2 },
        { x: 2, y: 4 },
      ]),
    ).toMatchObject({ slopeInterval: null, points: 2 });
    expect(fitLogLog([{ x: 1, y: 2 }])).toBeNull();
    expect(
      fitLogLog([
        { x: 4, y: 2 },
        { x: 4, y: 3 },
      ]),
    ).toBeNull();
    expect(
      fitLogLog([
        { x: 1, y: 0 },
        { x: 2, y: 3 },
      ]),
    ).toBeNull();
  });

  test('equal values are a flat line that fits', () => {
    expect(fitLogLog([1, 2, 4].map((x) => ({ x, y: 500 })))).toMatchObject({ slope: 0, r2: 1 });
  });
});
