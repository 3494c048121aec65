import { fitScalability, nonNegativeLeastSquares, Random } from '@shardlab/model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const counts = [1, 2, 4, 8, 16, 32, 64];
const law = fc.record({
  lambda: fc.double({ min: 100, max: 1e6, noNaN: true }),
  sigma: fc.double({ min: 0, max: 0.5, noNaN: true }),
  kappa: fc.double({ min: 0, max: 0.01, noNaN: true }),
});

interface Law {
  lambda: number;
  sigma: number;
  kappa: number;
}
const rate = ({ lambda, sigma, kappa }: Law, n: number) =>
  (lambda * n) / (1 + sigma * (n - 1) + kappa * n * (n - 1));

describe('the universal scalability fit', () => {
  test('recovers every law from its own points', () => {
    fc.assert(
      fc.property(law, (truth) => {
        const fit = fitScalability(
          counts.map((n) => ({ n, rates: [rate(truth, n)] })),
          { resamples: 10 },
        )!;
        expect(fit.lambda / truth.lambda).toBeCloseTo(1, 4);
        expect(fit.sigma).toBeCloseTo(truth.sigma, 4);
        expect(fit.kappa).toBeCloseTo(truth.kappa, 6);
        expect(fit.error).toBeLessThan(1e-6);
      }),
    );
  });

  test('its intervals hold the truth in most noisy samples, with repeats and without', () => {
    const truth = { lambda: 1000, sigma: 0.05, kappa: 0.001 };
    for (const repeats of [1, 5]) {
      const random = new Random(3);
      let inside = 0;
      const trials = 60;
      for (let trial = 0; trial < trials; trial++) {
        const points = counts.map((n) => ({
          n,
          rates: Array.from(
            { length: repeats },
            () => rate(truth, n) * (1 + 0.1 * (random.next() + random.next() + random.next() - 1.5)),
          ),
        }));
        const [low, high] = fitScalability(points, { seed: trial, resamples: 150 })!.intervals!.sigma;
        if (low <= truth.sigma && truth.sigma <= high) inside += 1;
      }
      expect(inside / trials).toBeGreaterThan(0.75);
    }
  });

  test('is finite without a point at 1, where coordination alone would fit best', () => {
    const rates = [100, 30, 6, 1];
    const fit = fitScalability(
      [2, 4, 8, 16].map((n, index) => ({ n, rates: [rates[index]!] })),
      { resamples: 20 },
    )!;
    const { lambda, sigma, kappa, error, intervals, residuals } = fit;
    const numbers = [
      lambda,
      sigma,
      kappa,
      error,
      ...Object.values(intervals!).flat(),
      ...residuals.map((each) => each.fitted),
    ];
    expect(numbers.filter((number) => !Number.isFinite(number))).toEqual([]);
  });

  test('finds where the rate is highest, and no such point if the rate never falls', () => {
    const points = (truth: Law) => counts.map((n) => ({ n, rates: [rate(truth, n)] }));
    const falling = fitScalability(points({ lambda: 10, sigma: 0.1, kappa: 0.001 }))!;
    expect(falling.peakN).toBeCloseTo(30, 3);
    expect(falling.peakRate).toBeCloseTo(rate({ lambda: 10, sigma: 0.1, kappa: 0.001 }, 30), 3);
    expect(fitScalability(points({ lambda: 10, sigma: 0.1, kappa: 0 }))!.peakRate).toBeCloseTo(100, 3);
    expect(fitScalability(points({ lambda: 10, sigma: 0, kappa: 0 }))).toMatchObject({
      peakN: null,
      peakRate: null,
    });
  });

  test('shows what it cannot explain as residuals', () => {
    const steps = counts.map((n) => ({ n, rates: [n < 8 ? 100 * n : 100] }));
    const fit = fitScalability(steps)!;
    expect(fit.error).toBeGreaterThan(0.1);
    expect(fit.residuals).toHaveLength(counts.length);
    expect(Math.max(...fit.residuals.map(({ relative }) => Math.abs(relative)))).toBeGreaterThan(0.2);
  });

  test('is the same for the same seed, and needs three different counts', () => {
    const points = counts.map((n, index) => ({ n, rates: [100 * n ** 0.8 * (1 + 0.02 * (index % 3))] }));
    expect(fitScalability(points, { seed: 4 })).toEqual(fitScalability(points, { seed: 4 }));
    expect(fitScalability(points.slice(0, 3))!.intervals).toBeNull();
    expect(fitScalability(points.slice(0, 2))).toBeNull();
    expect(fitScalability([...points.slice(0, 2), { n: 4, rates: [0] }])).toBeNull();
  });
});

describe('least squares without negative factors', () => {
  test('finds the factors that sums were computed with', () => {
    const cost = fc.double({ min: 0.01, max: 500, noNaN: true });
    const rows = [
      [1, 1, 1],
      [10, 1, 1],
      [400, 4, 1],
      [24, 24, 1],
      [100, 1, 0],
    ];
    fc.assert(
      fc.property(cost, cost, cost, (a, b, c) => {
        const values = rows.map(([x, y, z]) => a * x! + b * y! + c * z!);
        const { factors, error } = nonNegativeLeastSquares(rows, values);
        expect(error).toBeLessThan(1e-6);
        for (const [index, value] of [a, b, c].entries()) expect(factors[index]! / value).toBeCloseTo(1, 3);
      }),
    );
  });

  test('gives a column the factor 0 where a negative one would fit better', () => {
    const { factors } = nonNegativeLeastSquares(
      [
        [1, 1],
        [2, 1],
        [4, 1],
      ],
      [0.8, 1.9, 4.1],
    );
    expect(factors[1]).toBe(0);
    expect(factors[0]).toBeCloseTo(0.94, 1);
  });
});
