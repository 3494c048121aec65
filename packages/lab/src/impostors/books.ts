/**
 * An impostor's books: the waits, syncs, CPU and call times that it reports besides its rate. `careless` books contradict each
 * other; `forged` books add up as those of a real queue do, so that only the shape of its rates can reveal the impostor.
 */
import type { Random } from '@shardlab/model';
import type { QueueParams } from '../programs/queue/points/queue-params.ts';
import { type AnalyticSystem, type Behaviour, pacedByClients, sessionsOf } from './analytic-system.ts';

export type Books = Omit<Behaviour, 'dequeuePerSec' | 'enqueuePerSec'>;

/** 2 % of noise, so that repeats differ as measurements do. */
export const noisy = (value: number, chance: Random, share = 0.02): number =>
  value * (1 + share * (2 * chance.next() - 1));

/**
 * Books of a durable queue that reaches a rate: each commit waits for a sync, CPU takes what the rate needs of `cores`, and
 * the rest of the sessions' time is waited for `rest`.
 */
export function consistentBooks(
  params: QueueParams,
  rate: number,
  {
    cpuUs,
    callMs = 0.1,
    waits,
    cores = 2,
  }: { cpuUs: number; callMs?: number; waits: Behaviour['waitShares']; cores?: number },
): Books {
  const cpuUsPerMessage = Math.min(cpuUs, (cores * 1e6) / Math.max(rate, 1));
  const perDequeuer = (rate * callMs) / params.operationsPerTransaction / 1000 / (sessionsOf(params) / 2);
  const cpuShare = Math.min(0.5, (rate * cpuUsPerMessage) / 1e6 / sessionsOf(params));
  const { 'client round trip': _emulated, ...own } = waits;
  const total = Object.values(own).reduce((sum, share) => sum + share, 0);
  const client = clientShare(params, rate);
  const scale = total === 0 ? 0 : Math.max(0, 1 - cpuShare - client) / total;
  return {
    cpuUsPerMessage,
    callMs: perDequeuer > 0.5 ? (callMs * 0.5) / perDequeuer : callMs,
    latencyMs: 1,
    waitShares: {
      ...Object.fromEntries(Object.entries(own).map(([event, share]) => [event, share * scale])),
      ...(client === 0 ? {} : { 'client round trip': client }),
    },
    syncsPerCommit: 1,
  };
}

/** The round trips of a session's calls: those of the harness, which no system can hide. */
const clientShare = (params: QueueParams, rate: number): number => Math.min(1, rate / pacedByClients(params));

/** Whether the platform counts what processes do: `/proc` of Linux. */
export type Platform = 'counted' | 'not counted';

/**
 * The same rates with books that add up. The kernel's are not the forger's to write: where it counts, it counts what the system
 * does, which is to use its CPU and to write nothing.
 */
export const withForgedBooks =
  (system: AnalyticSystem, platform: Platform): AnalyticSystem =>
  (params, chance, scenario) => {
    const behaviour = system(params, chance, scenario);
    const cores = (behaviour.dequeuePerSec * behaviour.cpuUsPerMessage) / 1e6;
    const kernel = platform === 'counted' ? { writtenBytesPerSec: 0, blocksPerSec: 0, cores } : null;
    const { dequeuePerSec, cpuUsPerMessage, callMs, waitShares } = behaviour;
    const { 'log file sync': sync = 0.3, ...others } = waitShares;
    const waits = { 'log file sync': sync, ...others };
    const books = consistentBooks(params, dequeuePerSec, { cpuUs: cpuUsPerMessage, callMs, waits });
    return { ...behaviour, ...books, kernel, callP99Ms: behaviour.callP99Ms ?? books.callMs };
  };
