/** Combines the repeats of one combination into its point. */
import type { Combination, DurabilityEvidence, KilledTrial, Point, Repeat } from '@shardlab/contract';
import { median } from '@shardlab/model';
import { addIntegrity } from '../integrity/ledger.ts';
import { createHistogram, type Histogram, wholeLatencyOf } from '../meters/latency.ts';
import { mergeWaits, summariseWaits } from '../meters/wait-totals.ts';
import type { Program } from '../programs/program.ts';
import type { MeasuredRepeat } from '../trial/trial.ts';

/** Evidence about the durability of a point's system. */
export interface Durability {
  evidence: DurabilityEvidence;
  /** The trial of the point whose processes were killed, if it was sampled. */
  killed?: KilledTrial;
}

/**
 * Figures are medians over the repeats; latencies are percentiles of all repeats' merged histograms; waits and integrity
 * are sums over all repeats, and what a killed trial lost counts in the integrity too, if it was promised
 * to survive.
 */
export function summarisePoint(
  combination: Combination,
  outcomes: readonly MeasuredRepeat[],
  program: Pick<Program, 'figures' | 'contradiction'>,
  durability?: Durability,
): Point {
  const point = summarise(combination, outcomes, program, durability);
  const contradictions = outcomes.flatMap((outcome) => {
    const found = program.contradiction?.(summarise(combination, [outcome], program)) ?? null;
    return found === null ? [] : [found];
  });
  if (contradictions.length === 0) return point;
  return { ...point, conditions: { ...point.conditions!, contradictions } };
}

function summarise(
  { program, system, params }: Combination,
  outcomes: readonly MeasuredRepeat[],
  { figures }: Pick<Program, 'figures'>,
  { evidence, killed }: Durability = { evidence: 'not sampled' },
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
    latencies: mapValues(Object.assign({}, ...outcomes.map(({ latencies }) => latencies)), (name) =>
      wholeLatencyOf(mergedHistogram(outcomes.flatMap(({ latencies }) => latencies[name] ?? []))),
    ),
    byInstance: mapValues(outcomes[0]!.byInstance, (name, first) =>
      first.map((_, index) =>
        rounded(median(outcomes.map(({ byInstance }) => byInstance[name]?.[index] ?? 0))),
      ),
    ),
    ...summedHistograms(outcomes),
    ...(outcomes[0]!.swimlanes === undefined ? {} : { swimlanes: outcomes[0]!.swimlanes }),
    ...(outcomes[0]!.sessionWaits === undefined ? {} : { sessionWaits: outcomes[0]!.sessionWaits }),
    ...(outcomes[0]!.sequence === undefined ? {} : { sequence: outcomes[0]!.sequence }),
    ...(outcomes[0]!.traces === undefined ? {} : { traces: outcomes[0]!.traces }),
    ...(outcomes[0]!.holders === undefined ? {} : { holders: outcomes[0]!.holders }),
    ...(outcomes[0]!.rates === undefined ? {} : { rates: outcomes[0]!.rates }),
    waits: summariseWaits(mergeWaits(outcomes.map(({ waits }) => waits))),
    integrity: {
      ...integrityOf(outcomes, evidence === 'not promised' ? undefined : killed),
      durability: evidence,
    },
    conditions: {
      notSteady: outcomes.filter(({ steady }) => steady?.isSteady === false).length,
      disturbed: outcomes.filter(({ disturbance }) => disturbance?.isDisturbed === true).length,
      measuredAgain: outcomes.reduce((sum, { attempts = 1 }) => sum + attempts - 1, 0),
    },
    ...(killed === undefined ? {} : { killed }),
    ...(outcomes[0]!.stated === undefined ? {} : { stated: outcomes[0]!.stated }),
    repeats: outcomes.map(repeatOf),
  };
}

function summedHistograms(outcomes: readonly MeasuredRepeat[]): Pick<Point, 'histograms'> {
  const first = outcomes[0]!.histograms;
  if (first === undefined) return {};
  const sum = (name: string, bucket: number) =>
    outcomes.reduce((total, { histograms }) => total + (histograms?.[name]?.[bucket] ?? 0), 0);
  return { histograms: mapValues(first, (name, counts) => counts.map((_, bucket) => sum(name, bucket))) };
}

function integrityOf(outcomes: readonly MeasuredRepeat[], killed: KilledTrial | undefined) {
  const measured = outcomes.map(({ integrity }) => integrity).reduce(addIntegrity);
  if (killed === undefined) return measured;
  // Messages left in a folder after a kill are no drain that ended too early.
  const { lost, duplicated, damaged, outOfOrder } = killed;
  return addIntegrity(measured, { lost, duplicated, damaged, outOfOrder, left: 0 });
}

function repeatOf(outcome: MeasuredRepeat): Repeat {
  const { measuredMs, byInstance, waits, steady, disturbance, attempts = 1, disruption } = outcome;
  return {
    measuredMs: rounded(measuredMs),
    byInstance: mapValues(byInstance, (_, values) => values.map(rounded)),
    waitMs: Object.fromEntries(summariseWaits(waits).map(({ event, totalMs }) => [event, totalMs])),
    ...(steady === undefined ? {} : { steady }),
    ...(disturbance === undefined ? {} : { disturbance }),
    attempts,
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

/** Counts as they are, and of other values five significant digits: more than any repeat supports. */
const rounded = (value: number) => (Number.isInteger(value) ? value : Number(value.toPrecision(5)));
