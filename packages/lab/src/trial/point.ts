/** Combines the repeats of one combination into its point. */
import type { Combination, Point, Repeat } from '@shardlab/contract';
import { median } from '@shardlab/model';
import type { Program } from '../programs/program.ts';
import { createHistogram, type Histogram, latencyOf } from './latency.ts';
import { addIntegrity } from './ledger.ts';
import type { TrialOutcome } from './trial.ts';
import { mergeWaits, summariseWaits } from './wait-totals.ts';

/**
 * Figures are medians over the repeats; latencies are percentiles of all repeats' merged histograms; waits and integrity
 * are sums over all repeats.
 */
export function summarisePoint(
  { program, system, params }: Combination,
  outcomes: readonly TrialOutcome[],
  { figures }: Pick<Program, 'figures'>,
): Point {
  const measured = figures.flatMap(({ name, unit }): [string, Point['figures'][string]][] => {
    const repeats = outcomes.flatMap((outcome) => outcome.figures[name] ?? []).map(rounded);
    if (repeats.length === 0) return [];
    return [[name, { value: rounded(median(repeats)), unit, provenance: outcomes[0]!.provenance, repeats }]];
  });
  return {
    program,
    system,
    params,
    figures: Object.fromEntries(measured),
    latencies: mapValues(outcomes[0]!.latencies, (name) =>
      latencyOf(mergedHistogram(outcomes.flatMap(({ latencies }) => latencies[name] ?? []))),
    ),
    byInstance: mapValues(outcomes[0]!.byInstance, (name, first) =>
      first.map((_, index) =>
        rounded(median(outcomes.map(({ byInstance }) => byInstance[name]?.[index] ?? 0))),
      ),
    ),
    waits: summariseWaits(mergeWaits(outcomes.map(({ waits }) => waits))),
    integrity: outcomes.map(({ integrity }) => integrity).reduce(addIntegrity),
    repeats: outcomes.map(repeatOf),
  };
}

function repeatOf({ measuredMs, byInstance, waits, disruption }: TrialOutcome): Repeat {
  return {
    measuredMs: rounded(measuredMs),
    byInstance: mapValues(byInstance, (_, values) => values.map(rounded)),
    waitMs: Object.fromEntries(summariseWaits(waits).map(({ event, totalMs }) => [event, totalMs])),
    ...disruption,
  };
}

const mapValues = <From, To>(record: Record<string, From>, map: (name: string, value: From) => To) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(name, value)]));

function mergedHistogram(histograms: readonly Histogram[]): Histogram {
  if (histograms.length === 1) return histograms[0]!;
  const merged = createHistogram();
  for (const histogram of histograms) merged.add(histogram);
  return merged;
}

/** Five significant digits: more than any repeat supports. */
const rounded = (value: number) => Number(value.toPrecision(5));
