/** The result of a simulation, in the units of the lab's points: messages per second, milliseconds, cores. */
import type { LogHistogram } from './log-histogram.ts';
import { type StateName, stateNames } from './session-times.ts';

export interface SimulatedTimes {
  mean: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
  count: number;
}

/** A wait event of the sessions. Names as in `docs/glossary.md`; `CPU queue` is a wait for a thread or a core. */
export interface SimulatedWait {
  event: Exclude<StateName, 'running'>;
  waits: number;
  totalMs: number;
  /** Sessions in this wait at one time, on average. */
  averageSessions: number;
}

/** Share of the measured time that each resource was in use; of the busiest where there are several of a kind. */
export interface ResourceUse {
  cores: number;
  sessionThread: number;
  writerThread: number;
  redoDevice: number;
  partitionMaintenance: number;
  indexBlock: number;
}

export interface SimulationResult {
  enqueuePerSec: number;
  dequeuePerSec: number;
  /** One call of dequeue that found messages, without the client's round trip: from its arrival at the instance. */
  dequeueCallMs: SimulatedTimes;
  /** One commit, without the client's round trip: from its arrival at the instance until it is durable. */
  commitMs: SimulatedTimes;
  /** Time from the start of the enqueuing commit to the delivery. */
  latencyMs: SimulatedTimes;
  cpuUsPerMessage: number;
  /** Cores that each instance kept busy. */
  cpuShareByInstance: number[];
  dequeuePerSecByInstance: number[];
  /** Longest first. */
  waits: SimulatedWait[];
  /** Share of all sessions' time in each state; they add up to 1. */
  timeShare: Record<StateName, number>;
  use: ResourceUse;
  /** Transactions that shared a group commit, on average; 0 where there is none. */
  transactionsPerGroup: number;
  messages: { enqueued: number; consumed: number; held: number; ready: number; forwarded: number };
  measuredMs: number;
  operations: number;
  events: number;
  /** Why the simulation ended: enough operations, no events left (`stalled`), or the limit of simulated time. */
  ended: 'operations' | 'stalled' | 'time';
}

export function timesOf(histogram: LogHistogram): SimulatedTimes {
  const ms = (us: number) => us / 1000;
  return {
    mean: ms(histogram.mean),
    p50: ms(histogram.quantile(0.5)),
    p95: ms(histogram.quantile(0.95)),
    p99: ms(histogram.quantile(0.99)),
    max: ms(histogram.max),
    count: histogram.count,
  };
}

export function waitsOf(
  read: readonly { state: StateName; times: number; totalUs: number }[],
  elapsedUs: number,
): SimulatedWait[] {
  return read
    .flatMap(({ state, times, totalUs }) =>
      state === 'running' || totalUs === 0
        ? []
        : [{ event: state, waits: times, totalMs: totalUs / 1000, averageSessions: totalUs / elapsedUs }],
    )
    .sort((a, b) => b.totalMs - a.totalMs);
}

export function timeShareOf(
  read: readonly { state: StateName; totalUs: number }[],
): Record<StateName, number> {
  const total = read.reduce((sum, { totalUs }) => sum + totalUs, 0);
  return Object.fromEntries(
    stateNames.map((name, index) => [name, total === 0 ? 0 : read[index]!.totalUs / total]),
  ) as Record<StateName, number>;
}

/** The most used resource; null if none is in use for more than half of the time. */
export function bottleneckOf(use: ResourceUse): { resource: keyof ResourceUse; share: number } | null {
  const ranked = (Object.entries(use) as [keyof ResourceUse, number][]).sort((a, b) => b[1] - a[1]);
  const [resource, share] = ranked[0]!;
  return share < 0.5 ? null : { resource, share };
}
