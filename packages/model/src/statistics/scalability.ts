/**
 * The universal scalability law (N. J. Gunther, Guerrilla Capacity Planning, 2007): a rate over a number of sessions or
 * instances, bent down by what must wait for each other (sigma) and by what must agree with each other (kappa):
 *
 *     X(N) = lambda · N / (1 + sigma · (N − 1) + kappa · N · (N − 1))
 *
 * N ÷ X is linear in 1, N − 1 and N · (N − 1), so the fit is least squares without iteration; relative residuals,
 * because rates span orders of magnitude, and no negative factor, because neither kind of waiting can be.
 */
import type { Interval } from './intervals.ts';
import { median } from './intervals.ts';
import { nonNegativeLeastSquares } from './least-squares.ts';
import { Random } from './random.ts';

export interface ScalabilityPoint {
  n: number;
  /** The rate of each repeat. */
  rates: readonly number[];
}

export interface ScalabilityFit {
  /** Rate of one. */
  lambda: number;
  /** Share of the work that is serial (contention). */
  sigma: number;
  /** Cost of coordination between each pair (coherency). */
  kappa: number;
  /** 95 % intervals by a seeded bootstrap; null with fewer than four points, which three factors nearly always fit. */
  intervals: { lambda: Interval; sigma: Interval; kappa: Interval } | null;
  /** The n with the highest rate; null if the rate always rises. */
  peakN: number | null;
  /** Rate at the peak, or what it tends to; null if it rises without bound. */
  peakRate: number | null;
  residuals: { n: number; rate: number; fitted: number; relative: number }[];
  /** Root of the mean square of the relative residuals. */
  error: number;
}

export interface ScalabilityOptions {
  seed?: number;
  /** Bootstrap samples, default 400. */
  resamples?: number;
}

/** Fits the medians of the repeats. Points of no rate are left out; null if fewer than three different N remain. */
export function fitScalability(
  points: readonly ScalabilityPoint[],
  { seed = 1, resamples = 400 }: ScalabilityOptions = {},
): ScalabilityFit | null {
  const usable = points.filter(
    ({ n, rates }) => n > 0 && rates.length > 0 && rates.every((rate) => rate > 0),
  );
  if (new Set(usable.map(({ n }) => n)).size < 3) return null;
  const medians = usable.map(({ n, rates }) => ({ n, rate: median(rates) }));
  const law = solve(medians);
  const residuals = medians.map(({ n, rate }) => {
    const fitted = rateOf(law, n);
    return { n, rate, fitted, relative: rate / fitted - 1 };
  });
  const error = Math.sqrt(residuals.reduce((sum, { relative }) => sum + relative ** 2, 0) / residuals.length);
  return {
    ...law,
    intervals: usable.length < 4 ? null : bootstrap(usable, residuals, new Random(seed), resamples),
    ...peakOf(law),
    residuals,
    error,
  };
}

interface ScalabilityLaw {
  lambda: number;
  sigma: number;
  kappa: number;
}

export function rateOf({ lambda, sigma, kappa }: ScalabilityLaw, n: number): number {
  return (lambda * n) / (1 + sigma * (n - 1) + kappa * n * (n - 1));
}

function solve(points: readonly { n: number; rate: number }[]): ScalabilityLaw {
  const rows = points.map(({ n }) => [1, n - 1, n * (n - 1)]);
  const { factors } = nonNegativeLeastSquares(
    rows,
    points.map(({ n, rate }) => n / rate),
    { required: [0] }, // without it one session or instance alone would have no limit
  );
  const [base, waiting, agreeing] = factors as [number, number, number];
  return { lambda: 1 / base, sigma: waiting / base, kappa: agreeing / base };
}

function peakOf({ lambda, sigma, kappa }: ScalabilityLaw): Pick<ScalabilityFit, 'peakN' | 'peakRate'> {
  if (kappa > 0) {
    const peakN = Math.max(1, Math.sqrt((1 - Math.min(sigma, 1)) / kappa));
    return { peakN, peakRate: rateOf({ lambda, sigma, kappa }, peakN) };
  }
  return { peakN: null, peakRate: sigma > 0 ? lambda / sigma : null };
}

/**
 * Samples again what could have been measured: the repeats of each point where there are several, else the fit with
 * residuals of other points, widened for the three factors that were fitted to them.
 */
function bootstrap(
  points: readonly ScalabilityPoint[],
  residuals: ScalabilityFit['residuals'],
  random: Random,
  resamples: number,
): ScalabilityFit['intervals'] {
  const widen = Math.sqrt(residuals.length / Math.max(1, residuals.length - 3));
  const laws: ScalabilityLaw[] = [];
  for (let sample = 0; sample < resamples; sample++) {
    laws.push(
      solve(
        points.map(({ n, rates }, index) => {
          const drawn = rates.map(() => rates[random.below(rates.length)]!);
          const residual = residuals[random.below(residuals.length)]!.relative * widen;
          const rate =
            rates.length > 1 ? median(drawn) : residuals[index]!.fitted * Math.max(0.05, 1 + residual);
          return { n, rate };
        }),
      ),
    );
  }
  const interval = (of: (law: ScalabilityLaw) => number): Interval => {
    const sorted = laws.map(of).sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
    return [at(0.025), at(0.975)];
  };
  return {
    lambda: interval((law) => law.lambda),
    sigma: interval((law) => law.sigma),
    kappa: interval((law) => law.kappa),
  };
}
