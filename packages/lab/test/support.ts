/** Builders that tests of the lab share: a small good scenario, and points with what a test cares about. */
import type { Implementation, Point, Scenario, WaitSummary } from '@shardlab/contract';

export function smallScenario(changes: Partial<Scenario> = {}): Scenario {
  return {
    version: 1,
    id: 'small',
    title: 'A small scenario',
    question: 'Does it run?',
    claims: ['A3'],
    seed: 7,
    queue: { durability: 'durable', shardsPerInstance: 1 },
    workload: { payloadBytes: 64, operationsPerTransaction: 3, backlogMax: 500 },
    sweep: { implementation: ['sharded', 'unsharded'], instances: [1, 2], threads: [1, 2], roundTripMs: [0] },
    phases: { warmupMs: 20, measureMs: 100, drainMs: 5_000 },
    repeats: 1,
    ...changes,
  };
}

export interface PointFacts {
  implementation?: Implementation;
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
  const { implementation = 'sharded', instances = 1, threads = 1, roundTripMs = 0, deq } = facts;
  const { subscribers, operations = 10, cpuUs = 10, callMs = 1, enq = deq / (subscribers ?? 1) } = facts;
  const of = (values: number | number[], repeat: number) => [values].flat()[repeat] ?? [values].flat()[0]!;
  const shareOf = (instance: number, repeat: number) => {
    const shares = Array.isArray(facts.shares?.[0]) ? facts.shares[repeat] : facts.shares;
    return (shares as number[] | undefined)?.[instance] ?? 1 / instances;
  };
  const latency = { p50: 1, p90: 2, p99: 3, p999: 4, max: 5, count: 100 };
  return {
    implementation,
    provenance: roundTripMs > 0 ? 'emulated' : 'measured',
    params: {
      instances,
      threads,
      roundTripMs,
      payloadBytes: 512,
      operationsPerTransaction: operations,
      ...(subscribers === undefined ? {} : { subscribers }),
    },
    enqueuePerSec: enq,
    dequeuePerSec: deq,
    latencyMs: latency,
    dequeueCallMs: { ...latency, p50: of(callMs, 0) },
    cpuUsPerMessage: of(cpuUs, 0),
    cpuShareByInstance: facts.cores ?? Array.from({ length: instances }, () => 0.5),
    dequeuePerSecByInstance: Array.from({ length: instances }, (_, instance) => deq * shareOf(instance, 0)),
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
    repeats: (facts.repeats ?? [1]).map((share, repeat) => ({
      enqueuePerSec: enq * share,
      dequeuePerSec: deq * share,
      cpuUsPerMessage: of(cpuUs, repeat),
      measuredMs: 1000,
      dequeueCallMeanMs: of(callMs, repeat),
      dequeueCallP50Ms: of(callMs, repeat),
      dequeuePerSecByInstance: Array.from(
        { length: instances },
        (_, instance) => deq * share * shareOf(instance, repeat),
      ),
    })),
  };
}
