/**
 * Systems that are formulas: the results of a trial are computed and pass through the harness like those of a real trial (plan,
 * outcome, point, verdict). They test the judges: systems that only pretend must not make claims hold, and a system that does
 * what a claim says must.
 */
import {
  type Params,
  type Repeat,
  type Scenario,
  threadsByInstance,
  type WaitClass,
} from '@shardlab/contract';
import type { Random } from '@shardlab/model';
import { type QueueParams, queueParamsOf } from '../programs/queue/points/queue-params.ts';
import type { TrialOutcome } from '../trial/trial.ts';

/** The computed results of a system with given parameters. */
export interface Behaviour {
  dequeuePerSec: number;
  /** Default: what is dequeued is what is enqueued. */
  enqueuePerSec?: number;
  cpuUsPerMessage: number;
  /** Mean and median of a dequeue call that found messages. */
  callMs: number;
  /** Default: the mean. */
  callP99Ms?: number;
  latencyMs: number;
  /** Share of the time of all sessions, by event. */
  waitShares: Readonly<Record<string, number>>;
  /** Of the time in "write lock": how much of it another instance had the lock. Default: none of it. */
  writeLockElsewhere?: number;
  /** Commits that waited for a sync, as a share of all commits. */
  syncsPerCommit: number;
  /** Share of the dequeue rate by instance; default: as many threads as it has. */
  instanceShares?: readonly number[];
  /** The kernel's counters of its processes; null if the platform has none. Default: values that match its own reports. */
  kernel?: { writtenBytesPerSec: number; blocksPerSec: number; cores: number } | null;
  /** Its report about a kill or a conversion, if the scenario has one. */
  disruption?: Pick<Repeat, 'faults' | 'conversion'>;
}

const classes: Readonly<Record<string, WaitClass>> = {
  'log file sync': 'commit',
  'write lock': 'concurrency',
  'client round trip': 'network',
  'waiting for messages': 'idle',
};

/** Pure except for the numbers that it draws; drawn anew for each repeat. */
export type AnalyticSystem = (params: QueueParams, chance: Random, scenario: Scenario) => Behaviour;

/** Sessions of a trial: enqueuers, and as many dequeuers for each subscriber. */
export const sessionsOf = ({ threads, subscribers = 1 }: QueueParams): number => threads * (1 + subscribers);

/** Transactions committed per second: those of enqueuers, which count a topic's message once, and of dequeuers. */
export const commitsPerSec = (
  { enqueuePerSec, dequeuePerSec }: { enqueuePerSec: number; dequeuePerSec: number },
  { operationsPerTransaction }: QueueParams,
): number => (enqueuePerSec + dequeuePerSec) / operationsPerTransaction;

/** In an open loop no more is delivered than is offered. */
export function outcomeOf(
  params: Params,
  behaviour: Behaviour,
  { phases, faults, conversion }: Pick<Scenario, 'phases' | 'faults' | 'conversion'>,
): TrialOutcome {
  const { measureMs: measuredMs } = phases;
  const typed = queueParamsOf(params);
  const { threads, subscribers = 1, roundTripMs = 0 } = typed;
  const { cpuUsPerMessage, callMs, callP99Ms = callMs, latencyMs, waitShares, syncsPerCommit } = behaviour;
  const offered = params.messagesPerSec === undefined ? {} : { offeredPerSec: Number(params.messagesPerSec) };
  const dequeuePerSec = Math.min(behaviour.dequeuePerSec, offered.offeredPerSec ?? Number.POSITIVE_INFINITY);
  const enqueuePerSec = behaviour.enqueuePerSec ?? dequeuePerSec / subscribers;
  const shares = behaviour.instanceShares ?? threadsByInstance(typed).map((count) => count / threads);
  const busyCores = (dequeuePerSec * cpuUsPerMessage) / 1e6;
  const sessionMs = sessionsOf(typed) * measuredMs;
  const commits = (commitsPerSec({ enqueuePerSec, dequeuePerSec }, typed) * measuredMs) / 1000;
  const waits = Object.entries(waitShares).map(([event, share]) => ({
    event,
    class: classes[event] ?? 'configuration',
    emulated: event === 'client round trip',
    waits: Math.max(1, Math.round(event === 'log file sync' ? commits * syncsPerCommit : commits)),
    totalMs: share * sessionMs,
    buckets: [],
  }));
  const kernel =
    behaviour.kernel === undefined
      ? {
          writtenBytesPerSec: 2 * enqueuePerSec * typed.payloadBytes,
          blocksPerSec: commitsPerSec({ enqueuePerSec, dequeuePerSec }, typed),
          cores: busyCores,
        }
      : behaviour.kernel;
  const disruption =
    faults !== undefined
      ? { faults: behaviour.disruption?.faults ?? [] }
      : conversion !== undefined
        ? { conversion: behaviour.disruption!.conversion! }
        : undefined;
  return {
    figures: {
      ...offered,
      dequeuePerSec,
      enqueuePerSec,
      cpuUsPerMessage,
      busiestCores: Math.max(...shares) * busyCores,
      dequeueCallMeanMs: callMs,
      dequeueCallP50Ms: callMs,
      dequeueCallP99Ms: callP99Ms,
      latencyP50Ms: latencyMs,
      latencyP99Ms: (latencyMs * callP99Ms) / callMs,
      writeLockElsewhere: behaviour.writeLockElsewhere ?? 0,
      ...(kernel === null
        ? {}
        : {
            writtenBytesPerSec: kernel.writtenBytesPerSec,
            blocksPerSec: kernel.blocksPerSec,
            kernelCores: kernel.cores,
          }),
    },
    provenance: roundTripMs > 0 ? 'emulated' : 'measured',
    // Judges read the figures above, which each repeat has.
    latencies: {},
    byInstance: {
      cpuShare: shares.map((share) => share * busyCores),
      dequeuePerSec: shares.map((share) => share * dequeuePerSec),
    },
    waits,
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    measuredMs,
    ...(disruption === undefined ? {} : { disruption }),
  };
}

/** The most that an emulated client lets through: a round trip for each message, and one for the commit. */
export const pacedByClients = ({
  threads,
  roundTripMs = 0,
  operationsPerTransaction,
  subscribers = 1,
}: QueueParams): number =>
  roundTripMs === 0
    ? Number.POSITIVE_INFINITY
    : (threads * subscribers * operationsPerTransaction * 1000) /
      ((operationsPerTransaction + 1) * roundTripMs);
