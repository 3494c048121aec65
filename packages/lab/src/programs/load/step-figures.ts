/** Figures and distributions of one step, over all its processes. Pure. */
import { repeatLimits, type Steadiness } from '@shardlab/contract';
import { type Histogram, latencyOf, mergeHistograms } from '../../meters/latency.ts';
import { steadinessOf } from '../../meters/steadiness.ts';
import { mergeWaits } from '../../meters/wait-totals.ts';
import { timeFigures } from '../queue/trial/time-figures.ts';
import type { LoadResult, LoadWindow } from './load-job.ts';

type Results = readonly LoadResult[];

/** Each process's count is divided by its own window. */
export const ratePerSec = (results: Results, count: 'enqueued' | 'consumed'): number =>
  sum(results.map(({ window }) => (window.ms > 0 ? (window[count] / window.ms) * 1_000 : 0)));

/** CPU of client and server per message of one kind; left out if the system does not report it, or no message was processed. */
export const cpuUsPer = (results: Results, count: 'enqueued' | 'consumed') =>
  per(results, count, ({ cpuUs }) => cpuUs);

/** CPU of the server alone; also left out if there is no server. */
export const serverCpuUsPer = (results: Results, count: 'enqueued' | 'consumed') =>
  per(results, count, ({ serverCpuUs }) => serverCpuUs);

/** What a message of one kind caused, each left out where it is not counted. */
export const countsPer = (results: Results, count: 'enqueued' | 'consumed') => ({
  syncsPerMessage: per(results, count, ({ counts }) => counts.syncs),
  rowsPerMessage: per(results, count, ({ counts }) => counts.rows),
  diskBytesPerMessage: per(results, count, ({ counts }) => counts.diskBytes),
  heapBytesPerMessage: per(results, count, ({ counts }) => counts.heapBytes),
});

function per(
  results: Results,
  count: 'enqueued' | 'consumed',
  read: (window: LoadWindow) => number | null,
): number | undefined {
  const values = results.map(({ window }) => read(window));
  const messages = sum(results.map(({ window }) => window[count]));
  return values.includes(null) || messages === 0 ? undefined : sum(values as number[]) / messages;
}

/** What the sessions waited for, and shares of their time. */
export const sessionTimesOf = (results: Results) => ({
  figures: timeFigures(results.map(({ window }) => window)),
  waits: mergeWaits(results.map(({ window }) => window.waits)),
});

export const residentMiB = (results: Results): number =>
  Math.max(...results.map(({ residentBytesMax }) => residentBytesMax)) / 2 ** 20;

export const measuredMs = (results: Results): number => Math.max(...results.map(({ window }) => window.ms));

export const merged = (results: Results, name: 'latency' | 'scheduleLag' | 'eventLoopDelay'): Histogram =>
  mergeHistograms(results.map((result) => result[name]));

/** Undefined of an empty histogram. */
export const p99Of = (histogram: Histogram): number | undefined =>
  histogram.totalCount === 0 ? undefined : latencyOf(histogram).p99;
export const p50Of = (histogram: Histogram): number | undefined =>
  histogram.totalCount === 0 ? undefined : latencyOf(histogram).p50;

/** `copies`: how often each message is delivered, once to each subscriber. */
export const steadyOf = (results: Results, copies = 1): Steadiness =>
  steadinessOf(
    results.map(({ window }) => window),
    copies,
  );

/**
 * Steadiness of an open loop. Its rate is given, so only a growing backlog shows that it is not sustained. The rates of the
 * halves do not count: a stall that is made up for within the window belongs to the latency, and must not cause repeated
 * measurements until it disappears.
 */
export function sustainedOf(results: Results): Steadiness {
  const steady = steadyOf(results);
  const consumed = sum(results.map(({ window }) => window.consumed));
  return {
    ...steady,
    isSteady: consumed > 0 && Math.abs(steady.backlogDrift) <= repeatLimits.backlogDriftMax,
  };
}

/** Leaves out figures that could not be measured. */
export const measuredOnly = (figures: Record<string, number | undefined>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(figures).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
