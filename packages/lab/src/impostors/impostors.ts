/**
 * Systems that are not durable queues, in pairs: one poses as the sharded queue, the other as the baseline. A judge that lets one
 * of them pass proves nothing about queues.
 */
import type { topicSystems } from '../systems/queue-systems.ts';
import { type AnalyticSystem, pacedByClients } from './analytic-system.ts';
import { noisy, type Platform, withForgedBooks } from './books.ts';
import { disruptionOf } from './disruption.ts';

export interface Impostor {
  name: string;
  about: string;
  systems: SystemPair;
}

/** Systems by the names of those whose place they take. */
export type SystemPair = Readonly<Record<(typeof topicSystems)[number]['id'], AnalyticSystem>>;

/** The same system stands for all baselines, which is the easiest way of passing against each. */
export const pairOf = (sharded: AnalyticSystem, unsharded: AnalyticSystem): SystemPair => ({
  sharded,
  unsharded,
  'unsharded-grouped': unsharded,
  'unsharded-once': unsharded,
  'unsharded-grouped-once': unsharded,
});

/** Messages are numbers that are counted up in memory. Its waits are made up, and nothing is synced. */
export const counter: AnalyticSystem = (params, chance) => {
  const { threads, subscribers = 1, operationsPerTransaction } = params;
  const large = operationsPerTransaction >= 100;
  const rate = noisy(Math.min(40_000 * threads, pacedByClients(params)) * Math.min(subscribers, 10), chance);
  return {
    dequeuePerSec: rate,
    cpuUsPerMessage: noisy(0.4, chance),
    callMs: noisy(0.02, chance),
    latencyMs: 0.05,
    waitShares: { [large ? 'partition maintenance' : 'log file sync']: noisy(0.1, chance) },
    syncsPerCommit: 0.001,
    disruption: disruptionOf(rate),
  };
};

/** A limiter lets a fixed number of messages a second through, less on several instances. Nothing is synced. */
export const capped =
  (cap: number): AnalyticSystem =>
  (params, chance) => {
    const { instances, threads, subscribers = 1 } = params;
    const rate = noisy(Math.min(cap / instances ** 0.3, 1_000 * threads, pacedByClients(params)), chance);
    const callMs = noisy(threads * instances * 0.5, chance);
    return {
      dequeuePerSec: rate,
      enqueuePerSec: (rate / subscribers) * (threads > 4 ? 1.4 : 1),
      cpuUsPerMessage: noisy(60, chance),
      callMs,
      latencyMs: 5,
      waitShares: { 'write lock': noisy(0.6, chance), 'log file sync': 0.1 },
      syncsPerCommit: 0.001,
      disruption: disruptionOf(rate),
    };
  };

/** The client sets the pace: the rate of one thread, as many times as there are threads. */
export const clientBound: AnalyticSystem = (params, chance) => {
  const rate = noisy(Math.min(900 * params.threads, pacedByClients(params)), chance);
  return {
    dequeuePerSec: rate,
    cpuUsPerMessage: noisy(10, chance),
    callMs: noisy(0.05, chance),
    latencyMs: 2,
    waitShares: { 'client round trip': 0.88, 'log file sync': 0.08 },
    syncsPerCommit: 1,
    disruption: disruptionOf(rate),
  };
};

/** Each trial reports other numbers. */
export const random: AnalyticSystem = (_params, chance) => {
  const between = (low: number, high: number) => low * (high / low) ** chance.next();
  const rate = between(1_000, 1_000_000);
  return {
    dequeuePerSec: rate,
    enqueuePerSec: rate * between(0.7, 1.4),
    cpuUsPerMessage: between(0.5, 100),
    callMs: between(0.01, 20),
    latencyMs: between(0.05, 500),
    waitShares: {
      'log file sync': chance.next(),
      'write lock': chance.next(),
      'partition maintenance': chance.next(),
    },
    syncsPerCommit: chance.next(),
    disruption: disruptionOf(rate, { outageMs: between(1, 10_000), after: chance.next() }),
  };
};

export const impostors: readonly Impostor[] = [
  {
    name: 'counter',
    about: 'counts in memory beside a limiter that gets slower with instances',
    systems: pairOf(counter, capped(6_000)),
  },
  {
    name: 'capped',
    about: 'two limiters, of 120,000 and 6,000 messages a second',
    systems: pairOf(capped(120_000), capped(6_000)),
  },
  {
    name: 'client-bound',
    about: 'the client paces both queues, whose books are right',
    systems: pairOf(clientBound, clientBound),
  },
  {
    name: 'client-bound, capped',
    about: 'the client paces the one, a limiter the other',
    systems: pairOf(clientBound, capped(6_000)),
  },
  { name: 'random', about: 'other numbers in each trial', systems: pairOf(random, random) },
];

/** The same rates, with books that add up as those of a real queue do. */
export const forged = (
  { name, about, systems: { sharded, unsharded } }: Impostor,
  platform: Platform,
): Impostor => ({
  name: `${name}, forged, ${platform} by the kernel`,
  about: `${about}; with books that add up`,
  systems: pairOf(withForgedBooks(sharded, platform), withForgedBooks(unsharded, platform)),
});
