/** Builders that tests of the lab share: a small good scenario, and points with what a test cares about. */
import type { Figure, Point, Scenario, WaitSummary } from '@shardlab/contract';

/** Parameters of `changes` are added to the usual ones, except where its sweep has them. */
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

export interface PointFacts {
  system?: string;
  instances?: number;
  threads?: number;
  roundTripMs?: number;
  deq: number;
  /** Default the same as `deq`. */
  enq?: number;
  /** Rates of each repeat as shares of the point's; default one repeat. */
  repeats?: number[];
  waits?: Partial<WaitSummary>[];
  lost?: number;
  /** Of a topic; for one `enq` is messages and defaults to a share of the deliveries. */
  subscribers?: number;
  operations?: number;
  /** µs a message, of each repeat; default 10. */
  cpuUs?: number | number[];
  /** Cores busy, by instance. */
  cores?: number[];
  /** Shares of the dequeue rate by instance; default even. One list for each repeat, or one for all. */
  shares?: number[] | number[][];
  /** Mean of the dequeue call, of each repeat; its median is the same. */
  callMs?: number | number[];
}

export function point(facts: PointFacts): Point {
  const { system = 'sharded', instances = 1, threads = 1, roundTripMs = 0, deq } = facts;
  const { subscribers, operations = 10, cpuUs = 10, callMs = 1, enq = deq / (subscribers ?? 1) } = facts;
  const of = (values: number | number[], repeat: number) => [values].flat()[repeat] ?? [values].flat()[0]!;
  const shareOf = (instance: number, repeat: number) => {
    const shares = Array.isArray(facts.shares?.[0]) ? facts.shares[repeat] : facts.shares;
    return (shares as number[] | undefined)?.[instance] ?? 1 / instances;
  };
  const byInstance = (rate: number, repeat: number) =>
    Array.from({ length: instances }, (_, instance) => rate * shareOf(instance, repeat));
  const latency = { p50: 1, p90: 2, p99: 3, p999: 4, max: 5, count: 100 };
  const shares = facts.repeats ?? [1];
  const figure = (value: number, repeats: number[], unit: string): Figure => ({
    value,
    unit,
    provenance: roundTripMs > 0 ? 'emulated' : 'measured',
    repeats,
  });
  const calls = shares.map((_, repeat) => of(callMs, repeat));
  return {
    program: subscribers === undefined ? 'queue' : 'topic',
    system,
    params: {
      instances,
      threads,
      roundTripMs,
      payloadBytes: 512,
      operationsPerTransaction: operations,
      ...(subscribers === undefined ? {} : { subscribers }),
    },
    figures: {
      dequeuePerSec: figure(
        deq,
        shares.map((share) => deq * share),
        'messages per second',
      ),
      enqueuePerSec: figure(
        enq,
        shares.map((share) => enq * share),
        'messages per second',
      ),
      cpuUsPerMessage: figure(
        of(cpuUs, 0),
        shares.map((_, repeat) => of(cpuUs, repeat)),
        'microseconds',
      ),
      dequeueCallMeanMs: figure(of(callMs, 0), calls, 'milliseconds'),
      dequeueCallP50Ms: figure(of(callMs, 0), calls, 'milliseconds'),
    },
    latencies: { latency, dequeueCall: { ...latency, p50: of(callMs, 0) } },
    byInstance: {
      cpuShare: facts.cores ?? Array.from({ length: instances }, () => 0.5),
      dequeuePerSec: byInstance(deq, 0),
    },
    waits: (facts.waits ?? []).map((wait) => ({
      event: 'log file sync',
      class: 'commit',
      waits: 1,
      totalMs: 1,
      p99Ms: 1,
      emulated: false,
      ...wait,
    })),
    integrity: { lost: facts.lost ?? 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
    repeats: shares.map((share, repeat) => ({
      measuredMs: 1000,
      byInstance: { dequeuePerSec: byInstance(deq * share, repeat) },
      waitMs: {},
    })),
  };
}
