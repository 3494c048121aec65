/** What pairs of trials say: ratios with their intervals, counts side by side, and whether the second checkout lost speed. */
import { median } from '@shardlab/model';
import { ratioOf, type Sample, sampleOf } from '../judging/sample.ts';
import type { TrialPair } from './run-pairs.ts';
import type { TrialCounts, TrialRates } from './trial-process.ts';

export interface RateComparison {
  name: keyof TrialRates;
  /** Medians. */
  before: number;
  after: number;
  /** After ÷ before, pair by pair. */
  ratio: Sample;
}

export interface CountComparison {
  name: keyof TrialCounts;
  /** The least of all trials: noise, and a checkpoint that falls into the window, only add. */
  before: number;
  after: number;
  isEqual: boolean;
}

/**
 * `no loss`: the interval of the rate's ratio lies at or above `ratioMin`. `loss`: all of it lies below. `undecided`: neither, or there
 * are too few pairs for an interval.
 */
export type PairsVerdict = 'no loss' | 'loss' | 'undecided';

export interface PairsComparison {
  /** The first is the rate that the verdict is about. */
  rates: RateComparison[];
  counts: CountComparison[];
  /** Medians of the share of CPU that others used. */
  othersShare: { before: number; after: number };
  verdict: PairsVerdict;
}

/** A ratio of rates from which two checkouts count as equally fast. */
export const ratioMin = 0.9;

/** The least of a few trials still differs by this share from run to run: timers, and what the compiler has inlined. */
const countsTolerance: Readonly<Record<keyof TrialCounts, number>> = {
  groupsPerStep: 0.01,
  syncsPerStep: 0.01,
  sleepsPerStep: 0.15,
  writtenBytesPerMessage: 0.02,
  heapBytesPerMessage: 0.05,
};

/** Rates without a value in any pair, such as the dequeues of enqueuers alone, are left out. */
export function comparePairs(pairs: readonly TrialPair[]): PairsComparison {
  const rates = rateNames
    .map((name) => compareRate(pairs, name))
    .filter(({ before, after }) => before > 0 || after > 0);
  const counts = (Object.keys(countsTolerance) as (keyof TrialCounts)[]).map((name) => {
    const before = Math.min(...pairs.map((pair) => pair.before.counts[name]));
    const after = Math.min(...pairs.map((pair) => pair.after.counts[name]));
    const isEqual = Math.abs(after - before) <= countsTolerance[name] * Math.max(before, after);
    return { name, before, after, isEqual };
  });
  const share = (which: keyof TrialPair) => median(pairs.map((pair) => pair[which].othersShare));
  return {
    rates,
    counts,
    othersShare: { before: share('before'), after: share('after') },
    verdict: verdictOf(rates[0]?.ratio.interval ?? null),
  };
}

const rateNames: readonly (keyof TrialRates)[] = [
  'dequeuePerSec',
  'enqueuePerSec',
  'cpuUsPerMessage',
  'sessionCpuUsPerMessage',
  'writerCpuUsPerMessage',
  'commitMsP50',
  'commitMsP99',
  'transactionsPerGroup',
  'diskBytesPerMessage',
];

function compareRate(pairs: readonly TrialPair[], name: keyof TrialRates): RateComparison {
  const of = (which: keyof TrialPair) => pairs.map((pair) => pair[which].rates[name]);
  const [before, after] = [of('before'), of('after')];
  return {
    name,
    before: median(before),
    after: median(after),
    ratio: ratioOf(sampleOf(after), sampleOf(before)),
  };
}

function verdictOf(interval: Sample['interval']): PairsVerdict {
  if (interval === null) return 'undecided';
  if (interval[0] >= ratioMin) return 'no loss';
  return interval[1] < ratioMin ? 'loss' : 'undecided';
}
