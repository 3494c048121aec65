/** The figures that the document's text gives, with which results are compared. */
export const whitePaper = {
  shardedDequeuePerSec: 76_000,
  unshardedDequeuePerSec: 8_000,
  /** Figure 5: dequeues per CPU second, sharded ÷ unsharded. */
  dequeuesPerCpuRatio: 4,
  dequeueCallMs: 1,
  largeBatchDequeuePerSec: 100_000,
  topicDequeuePerSec: 100_000,
  /** CPU of a sharded topic ÷ CPU of an unsharded one. */
  topicCpuRatio: 0.5,
  topicLargeBatchOperationsPerSec: 150_000,
  /** CPU utilisation of each of the eight nodes. */
  topicCpuShare: 0.1,
  /** A1 states a straight line up to this many threads. */
  threadsMax: 32,
  nodes: 8,
  coresPerNode: 24,
} as const;
