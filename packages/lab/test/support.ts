/** Builders that tests of the lab share: a small valid scenario, and points with the facts that matter to a test. */
import type { Figure, Point, Scenario, WaitSummary } from '@shardlab/contract';
import { againWindowMsMin } from '../src/run/measure-repeat.ts';

/** The longest window that is not measured again after a disturbance. */
export const measuredOnceMs = againWindowMsMin - 1;

/** A valid scenario with changes. Parameters of `changes` are added to the usual ones; those that its sweep has are left out. */
export function smallScenario(changes: Partial<Scenario> = {}): Scenario {
  const { sweep = { instances: [1, 2], threads: [1, 2] } } = changes;
  const parameters = {
    durability: 'durable',
    payloadBytes: 64,
    operationsPerTransaction: 3,
    backlogMax: 500,
    ...changes.parameters,
  };
  return {
    version: 2,
    id: 'small',
    title: 'A small scenario',
    question: 'Does it run?',
    claims: ['A3'],
    seed: 7,
    program: 'queue',
    systems: ['sharded', 'unsharded'],
    phases: { warmupMs: 20, measureMs: 100, drainMs: 5_000 },
    repeats: 1,
    kills: false,
    ...changes,
    parameters: Object.fromEntries(Object.entries(parameters).filter(([name]) => !(name in sweep))),
    sweep,
  };
}

/** Five repeats that differ by less than one per cent. */
export const five: readonly number[] = [1, 1.004, 0.996, 1.002, 0.998];

export interface PointFacts {
  system?: string;
  instances?: number;
  threads?: number;
  roundTripMs?: number;
  deq: number;
  /** Messages enqueued per second; default: as many as are dequeued, of a topic divided by its subscribers. */
  enq?: number;
  /** Rate of each repeat relative to the point's; default: one repeat. */
  repeats?: readonly number[];
  /** Waits of each repeat, which lasts a second; default: commits that take 70 % of the sessions' time. */
  waits?: Partial<WaitSummary>[];
  lost?: number;
  /** The number of subscribers of a topic, of which `deq` counts deliveries; undefined for a queue. */
  subscribers?: number;
  operations?: number;
  /** CPU time of a message in µs, of each repeat; default: 10, or less if two cores could not provide that. */
  cpuUs?: number | number[];
  /** Busy cores by instance; default: what follows from `cpuUs`. */
  cores?: number[];
  /** Shares of the dequeue rate by instance; default: equal. */
  shares?: number[];
  /** The share of the time in "write lock" for which another instance had the lock; default: unknown. */
  lockElsewhere?: number;
  /** Mean time of the dequeue call, of each repeat; its median and its 99th percentile are the same. */
  callMs?: number | number[];
}

const one = [1];

/** A point whose measurements agree with each other, unless the given facts contradict each other. */
export function point(facts: PointFacts): Point {
  const { system = 'sharded', instances = 1, threads = 1, roundTripMs = 0, deq } = facts;
  const { subscribers, operations = 10, enq = deq / (subscribers ?? 1), repeats: rounds = one } = facts;
  const sessions = threads * (1 + (subscribers ?? 1));
  const { cpuUs = Math.min(10, 1e6 / deq), callMs = Math.min(1, (500 * threads * operations) / deq) } = facts;
  const of = (values: number | number[], repeat: number) => [values].flat()[repeat] ?? [values].flat()[0]!;
  const shares = Array.from({ length: instances }, (_, index) => facts.shares?.[index] ?? 1 / instances);
  const each = (read: (share: number, repeat: number) => number): Figure['repeats'] => rounds.map(read);
  const figure = (repeats: number[], unit: string, value = repeats[0]!): Figure => ({
    value,
    unit,
    provenance: roundTripMs > 0 ? 'emulated' : 'measured',
    repeats,
  });
  const calls = figure(
    each((_, repeat) => of(callMs, repeat)),
    'milliseconds',
  );
  const commits = ((deq + enq) / operations) * rounds.length;
  const waits = facts.waits ?? [{ totalMs: 700 * sessions }];
  const synced = waits.some(({ event = 'log file sync' }) => event === 'log file sync')
    ? waits
    : [...waits, { totalMs: 0.001 }];
  const summaries = synced.map((wait) => ({
    event: 'log file sync',
    class: 'commit' as const,
    waits: Math.ceil(commits),
    p99Ms: 1,
    emulated: false,
    ...wait,
    totalMs: (wait.totalMs ?? 1) * rounds.length,
  }));
  const explained: WaitSummary = {
    event: 'waiting for messages',
    class: 'idle',
    waits: 1,
    p99Ms: 1,
    emulated: false,
    totalMs: 300 * sessions * rounds.length,
  };
  const waited = summaries.reduce((sum, { totalMs }) => sum + totalMs, 0);
  const all = waited < 400 * sessions * rounds.length ? [...summaries, explained] : summaries;
  const latency = { p50: 1, p90: 2, p99: 3, p999: 4, max: 5, count: 100 };
  return {
    program: subscribers === undefined ? 'queue' : 'topic',
    system,
    params: {
      instances,
      threads,
      roundTripMs,
      durability: 'durable',
      payloadBytes: 512,
      operationsPerTransaction: operations,
      ...(subscribers === undefined ? {} : { subscribers }),
    },
    figures: {
      dequeuePerSec: figure(
        each((share) => deq * share),
        'messages per second',
        deq,
      ),
      enqueuePerSec: figure(
        each((share) => enq * share),
        'messages per second',
        enq,
      ),
      cpuUsPerMessage: figure(
        each((_, repeat) => of(cpuUs, repeat)),
        'microseconds',
      ),
      dequeueCallMeanMs: calls,
      writtenBytesPerSec: figure(
        each(() => enq * 2 * 1024 ** 2),
        'bytes per second',
      ),
      blocksPerSec: figure(
        each(() => enq + deq),
        'times per second',
      ),
      kernelCores: figure(
        each((share, repeat) => (share * deq * of(cpuUs, repeat)) / 1e6),
        'cores',
      ),
      ...(facts.lockElsewhere === undefined
        ? {}
        : {
            writeLockElsewhere: figure(
              each(() => facts.lockElsewhere!),
              'share',
            ),
          }),
      dequeueCallP50Ms: calls,
      dequeueCallP99Ms: calls,
    },
    latencies: { latency, dequeueCall: { ...latency, p50: of(callMs, 0) } },
    byInstance: {
      cpuShare: facts.cores ?? shares.map((share) => (share * deq * of(cpuUs, 0)) / 1e6),
      dequeuePerSec: shares.map((share) => share * deq),
    },
    waits: all,
    integrity: { lost: facts.lost ?? 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    repeats: rounds.map((share, repeat) => ({
      measuredMs: 1000,
      byInstance: {
        cpuShare: facts.cores ?? shares.map((each) => (each * deq * share * of(cpuUs, repeat)) / 1e6),
        dequeuePerSec: shares.map((each) => each * deq * share),
      },
      waitMs: Object.fromEntries(all.map(({ event, totalMs }) => [event, totalMs / rounds.length])),
    })),
  };
}

/** The points, and a copy of each point of the unsharded queue for the grouped kind. */
export const withGrouped = (points: readonly Point[]): Point[] =>
  points.flatMap((each) =>
    each.system === 'unsharded' ? [each, { ...each, system: 'unsharded-grouped' }] : [each],
  );
