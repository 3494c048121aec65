/** The workloads that `pairs` compares two checkouts with. */
import type * as Engine from '@shardlab/engine';

export interface Workload {
  kind?: Engine.QueueKind;
  /** Number of enqueuers, and of dequeuers unless `enqueueOnly` or `subscribers`. */
  sessions: number;
  operationsPerTransaction: number;
  enqueueOnly?: boolean;
  /** Subscribers of a topic, each with one dequeuing session; 0, the default, for a queue. */
  subscribers?: number;
  /** Connections to a process that serves the instance; 0, the default, embeds it. */
  connections?: number;
  /** Messages that are prefetched for remote dequeuers; default: 0. */
  prefetch?: number;
}

/** By name. Payloads have 512 bytes. */
export const pairCases: Readonly<Record<string, Workload>> = {
  queue10: { sessions: 16, operationsPerTransaction: 10 },
  queue1x32: { sessions: 32, operationsPerTransaction: 1 },
  queue1: { sessions: 1, operationsPerTransaction: 1 },
  queue1000: { sessions: 4, operationsPerTransaction: 1_000 },
  enqueue10: { sessions: 16, operationsPerTransaction: 10, enqueueOnly: true },
  topic10: { sessions: 4, operationsPerTransaction: 10, subscribers: 10 },
  unsharded10: { kind: 'unsharded', sessions: 16, operationsPerTransaction: 10 },
  grouped10: { kind: 'unsharded-grouped', sessions: 16, operationsPerTransaction: 10 },
  remote1: { sessions: 32, operationsPerTransaction: 1, connections: 2 },
  remote10: { sessions: 8, operationsPerTransaction: 10, connections: 2 },
  remote1000: { sessions: 4, operationsPerTransaction: 1_000, connections: 2 },
};
