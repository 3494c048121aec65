/** A bench as one object, which `--json` writes and from which the tables are made. */
import type { Absence } from '../plan/availability.ts';
import type { Failure, Measurements } from '../run-bench.ts';
import { type Ratio, ratiosOf } from './ratios.ts';
import { type RawMeasurement, type Result, rawMeasurementOf, resultsOf } from './results.ts';
import { type Target, targetsOf } from './targets.ts';

export interface Bench {
  environment: Measurements['environment'];
  payloadBytes: number;
  rounds: number;
  rawLimit: RawMeasurement[];
  results: Result[];
  ratios: Record<string, number | null>;
  targets: Target[];
  absent: Absence[];
  failures: Failure[];
}

export function benchOf(measured: Measurements, standing: { small: number; large: number }): Bench {
  const { environment, payloadBytes, rounds, absent, failures } = measured;
  const rawLimit = measured.raw.flatMap(({ kind, repeats }) => rawMeasurementOf(kind, repeats));
  const results = measured.trials.flatMap(({ trial, repeats }) => resultsOf(trial, repeats));
  const figures = { rawLimit, results, standing };
  const ratios = ratiosOf(figures);
  return {
    environment,
    payloadBytes,
    rounds,
    rawLimit,
    results,
    ratios: Object.fromEntries(
      Object.entries(ratios).map(([name, { value }]: [string, Ratio]) => [name, value]),
    ),
    targets: targetsOf(figures, ratios),
    absent,
    failures,
  };
}
