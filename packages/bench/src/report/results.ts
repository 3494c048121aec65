/** The rows of the bench: each combines the repeats of a trial. */
import type { Integrity, LatencyMs } from '@shardlab/contract';
import { latencyOf, mergeHistograms, type RawResult } from '@shardlab/lab';
import type { RawKind } from '../plan/raw-kinds.ts';
import type { Trial } from '../plan/trials.ts';
import { addIntegrity, type Phase, type Sample } from '../trial/sample.ts';
import { type Spread, spreadOf } from './spread.ts';

export interface Result {
  trial: string;
  driver: string;
  durability: string;
  /** Whether messages are synced to the disk before they are acknowledged. */
  synced: boolean;
  /** Durability as reported by the system. */
  durabilityStated: string;
  placement: 'embedded' | 'remote';
  phase: Phase;
  operationsPerTransaction: number;
  /** Active enqueuers and dequeuers in the phase. */
  sessions: number;
  enqueuers: number;
  dequeuers: number;
  instances: number;
  /** Subscribers of a topic, whose dequeues are deliveries to all of them; 0 for a queue. */
  subscribers: number;
  /** Target rate of an open loop, messages per second; null in a closed loop. */
  intendedPerSec: number | null;
  /** Medians of the repeats; null if the phase does not have the operation. */
  enqueuePerSec: number | null;
  dequeuePerSec: number | null;
  cpuUsPerMessage: number | null;
  /** Intended send time to delivery, from histograms merged over the repeats. */
  latencyMs: LatencyMs | null;
  scheduleLagMs: LatencyMs | null;
  eventLoopDelayMs: LatencyMs;
  spread: {
    enqueuePerSec: Spread | null;
    dequeuePerSec: Spread | null;
    cpuUsPerMessage: Spread | null;
  };
  /** Sum over the repeats. */
  integrity: Integrity;
  /** Messages in the queue when the phase began; median of the repeats. */
  backlog: number;
  /** Maximum over the repeats. */
  openMs: number;
  residentMiB: number;
  emulatedSyncMs: number;
  repeats: number;
}

export interface RawMeasurement extends RawKind {
  rowsPerSec: Spread;
  cpuUsPerRow: Spread;
}

/** One row per phase of a trial; none if all its repeats failed. */
export function resultsOf(trial: Trial, repeats: readonly Sample[][]): Result[] {
  return (repeats[0] ?? []).map(({ phase }) => {
    const samples = repeats.map((repeat) => repeat.find((sample) => sample.phase === phase)!);
    return resultOf(trial, phase, samples);
  });
}

function resultOf(trial: Trial, phase: Phase, samples: readonly Sample[]): Result {
  const { system, operations, instances, emulatedSyncMs = 0 } = trial;
  const enqueuers = phase === 'dequeue only' ? 0 : trial.enqueuers;
  const dequeuers = phase === 'enqueue only' ? 0 : trial.dequeuers;
  const enqueue = spreadIfAny(samples.map((sample) => sample.enqueuePerSec));
  const dequeue = spreadIfAny(samples.map((sample) => sample.dequeuePerSec));
  const cpu = spreadIfAny(samples.map((sample) => sample.cpuUsPerMessage));
  const latency = latencyIfAny(samples.map((sample) => sample.latency));
  return {
    trial: trial.key,
    driver: system.driver,
    durability: system.durability,
    synced: system.synced,
    durabilityStated: samples[0]!.stated,
    placement: system.placement,
    phase,
    operationsPerTransaction: operations,
    sessions: enqueuers + dequeuers,
    enqueuers,
    dequeuers,
    instances,
    subscribers: trial.subscribers ?? 0,
    intendedPerSec: samples[0]!.intendedPerSec,
    enqueuePerSec: enqueue?.median ?? null,
    dequeuePerSec: dequeue?.median ?? null,
    cpuUsPerMessage: cpu?.median ?? null,
    latencyMs: latency,
    scheduleLagMs: latencyIfAny(samples.map((sample) => sample.scheduleLag)),
    eventLoopDelayMs: latencyOf(mergeHistograms(samples.map((sample) => sample.eventLoopDelay))),
    spread: { enqueuePerSec: enqueue, dequeuePerSec: dequeue, cpuUsPerMessage: cpu },
    integrity: samples.map((sample) => sample.integrity).reduce(addIntegrity),
    backlog: spreadOf(samples.map((sample) => sample.backlog)).median,
    openMs: Math.max(...samples.map((sample) => sample.openMs)),
    residentMiB: Math.max(...samples.map((sample) => sample.residentBytesMax)) / 2 ** 20,
    emulatedSyncMs,
    repeats: samples.length,
  };
}

export function rawMeasurementOf(kind: RawKind, repeats: readonly RawResult[]): RawMeasurement[] {
  if (repeats.length === 0) return [];
  return [
    {
      ...kind,
      rowsPerSec: spreadOf(repeats.map((repeat) => repeat.rowsPerSec)),
      cpuUsPerRow: spreadOf(repeats.map((repeat) => repeat.cpuUsPerRow)),
    },
  ];
}

/** The number of messages with any fault. */
export const faultsOf = ({ lost, duplicated, damaged, outOfOrder }: Integrity): number =>
  lost + duplicated + damaged + outOfOrder;

function spreadIfAny(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : spreadOf(known);
}

function latencyIfAny(encoded: readonly string[]): LatencyMs | null {
  const latency = latencyOf(mergeHistograms(encoded));
  return latency.count === 0 ? null : latency;
}
