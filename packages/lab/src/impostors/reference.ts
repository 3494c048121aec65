/**
 * A pair of systems that behaves as the white paper describes its queues, statement by statement: every judge that can decide its
 * claim must find that it holds. A bar that this pair fails would be out of reach for the document's own system.
 */
import type { QueueParams } from '../programs/queue/points/queue-params.ts';
import { type AnalyticSystem, type Behaviour, pacedByClients } from './analytic-system.ts';
import { consistentBooks, noisy } from './books.ts';
import { disruptionOf } from './disruption.ts';
import { pairOf } from './impostors.ts';

/** Combines the system in series with the emulated client: each message takes the time of both. */
const withClient = (own: number, params: QueueParams): number => 1 / (1 / own + 1 / pacedByClients(params));

/** Rises in a straight line to 32 threads on any number of instances, then tails off; dequeuers keep up. */
const sharded: AnalyticSystem = (params, chance) => {
  const { threads, subscribers, operationsPerTransaction, payloadBytes, cacheMiB = 64 } = params;
  const large = operationsPerTransaction >= 100;
  const topic = subscribers !== undefined;
  const own =
    (topic ? 4_000 : 3_100) *
    Math.min(threads, 36) ** 0.95 *
    (large ? (topic ? 1.5 : 1.2) : 1) *
    (payloadBytes / 512) ** -0.7 *
    (params.durability === 'durable' ? 1 : params.durability === 'relaxed' ? 1.8 : 3) *
    (params.rows === 'separate' ? 0.6 : 1) *
    (params.dequeuers === 'other-instance' ? 0.9 : 1);
  const rate = noisy(withClient(own, params), chance);
  const waits: Behaviour['waitShares'] = large
    ? { 'partition maintenance': 0.6, 'log file sync': 0.3 }
    : { 'log file sync': 0.7, 'partition maintenance': 0.2, 'waiting for messages': 0.1 };
  return {
    dequeuePerSec: rate,
    ...consistentBooks(params, rate, {
      cpuUs: noisy(8 * threads ** -0.2 * (cacheMiB < 64 ? 1.6 : 1), chance),
      callMs: noisy(0.05, chance),
      waits,
    }),
    callP99Ms: noisy(0.4, chance),
    latencyMs: noisy(0.1, chance),
    disruption: disruptionOf(rate, { outageMs: 400, after: 0.8 }),
  };
};

/** Best on one instance, below 8,000 a second with one core busy under load; several instances wait for each other's blocks. */
const unsharded: AnalyticSystem = (params, chance) => {
  const { instances, threads, subscribers = 1, roundTripMs = 0 } = params;
  const most = (roundTripMs === 0 ? 5_000 : 600) * threads ** 0.1 * instances ** -0.4;
  const rate = noisy(
    roundTripMs >= 5 ? withClient(most * 100, params) : Math.min(most, pacedByClients(params)),
    chance,
  );
  const crowded = instances > 1;
  return {
    dequeuePerSec: rate,
    enqueuePerSec: (rate / subscribers) * (threads > 2 ? 1.35 : 1),
    ...consistentBooks(params, rate, {
      cpuUs: noisy((threads > 2 ? 0.95e6 : 0.5e6) / rate, chance, 0.01),
      callMs: noisy(0.1 * threads ** 0.6 * instances ** 0.5, chance),
      waits: crowded
        ? { 'write lock': 0.7, 'log file sync': 0.2 }
        : { 'log file sync': 0.6, 'write lock': 0.2 },
    }),
    writeLockElsewhere: crowded ? noisy(0.7, chance) : 0,
    disruption: disruptionOf(rate, { outageMs: 60, after: 3 }),
  };
};

export const reference = pairOf(sharded, unsharded);

/**
 * At a share of its rates: slow enough for a real queue to keep up with on any machine. Absolute rates that a claim asks for are out of
 * its reach then. `keepsCores`: whether as many cores are busy, or a message takes as much CPU time.
 */
export const slowed =
  (system: AnalyticSystem, { share, keepsCores }: { share: number; keepsCores: boolean }): AnalyticSystem =>
  (params, chance, scenario) => {
    const behaviour = system(params, chance, scenario);
    const { dequeuePerSec, enqueuePerSec = dequeuePerSec, cpuUsPerMessage } = behaviour;
    return {
      ...behaviour,
      dequeuePerSec: dequeuePerSec * share,
      enqueuePerSec: enqueuePerSec * share,
      cpuUsPerMessage: keepsCores ? cpuUsPerMessage / share : cpuUsPerMessage,
    };
  };
