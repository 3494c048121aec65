/** Durations and amounts: the full bench, a quick one, and the smallest, which only shows that everything works. */
export interface Scale {
  /** Repeats of every trial, interleaved with the others. */
  rounds: number;
  warmupMs: number;
  measureMs: number;
  drainMs: number;
  /** Warm-up and window of the probes for a peer's best number of consumers; 0: no probes. */
  probeMs: number;
  /** Instances of our engine in trials that all systems run. */
  instances: readonly number[];
  operations: readonly number[];
  rawOperations: readonly number[];
  /** Messages enqueued before the phase that only dequeues. */
  dequeueBacklog: { messages: number; withinMs: number };
  /** The small and the large backlog whose rates must not differ. */
  standing: { small: number; large: number };
  /** Whether peers with servers are included. */
  servers: boolean;
}

export const scales = {
  full: {
    rounds: 3,
    warmupMs: 400,
    measureMs: 1_300,
    drainMs: 1_000,
    probeMs: 300,
    instances: [1, 2],
    operations: [1, 10, 1_000],
    rawOperations: [1, 10, 100, 1_000],
    dequeueBacklog: { messages: 1_000_000, withinMs: 1_200 },
    standing: { small: 10_000, large: 10_000_000 },
    servers: true,
  },
  quick: {
    rounds: 1,
    warmupMs: 300,
    measureMs: 700,
    drainMs: 500,
    probeMs: 0,
    instances: [1, 2],
    operations: [1, 10, 1_000],
    rawOperations: [1, 10, 100, 1_000],
    dequeueBacklog: { messages: 300_000, withinMs: 700 },
    standing: { small: 10_000, large: 300_000 },
    servers: false,
  },
  smallest: {
    rounds: 1,
    warmupMs: 50,
    measureMs: 100,
    drainMs: 500,
    probeMs: 0,
    instances: [1],
    operations: [10],
    rawOperations: [10],
    dequeueBacklog: { messages: 2_000, withinMs: 200 },
    standing: { small: 500, large: 5_000 },
    servers: false,
  },
} as const satisfies Record<string, Scale>;
