/** The claims that the lab can judge, as data: what the document says, in our words (see the documents' ledger). */
import type { Claim } from './claim.ts';
import { wordClaims } from './word-claims.ts';

/** The document's own numbers that judges compare with. */
export const whitePaper = {
  shardedDequeuePerSec: 76_000,
  unshardedDequeuePerSec: 8_000,
  /** Figure 5: dequeues for each second of CPU, sharded over unsharded. */
  dequeuesPerCpuRatio: 4,
  dequeueCallMs: 1,
  largeBatchDequeuePerSec: 100_000,
  topicDequeuePerSec: 100_000,
  /** CPU of a sharded topic over that of an unsharded one. */
  topicCpuRatio: 0.5,
  topicLargeBatchOperationsPerSec: 150_000,
  /** Of each of the eight nodes. */
  topicCpuShare: 0.1,
  /** A1's line is stated up to this many threads. */
  threadsMax: 32,
  nodes: 8,
  coresPerNode: 24,
} as const;

const figureClaims: readonly Claim[] = [
  {
    id: 'A1',
    title: 'Sharded dequeue scales in a straight line',
    document:
      'The sharded dequeue rate rises in a straight line on log-log axes with the threads, to 32 of them, and does not regress as instances are added (figure 3).',
    grade: 'shape',
  },
  {
    id: 'A2',
    title: 'Sharded reaches 76,000 dequeues a second',
    document: 'The sharded queue reaches 76,000 dequeues a second on 8 nodes of 24 cores (figure 3).',
    grade: 'prose',
  },
  {
    id: 'A3',
    title: 'Sharded dequeuers keep up',
    document: 'Dequeuers keep up with the same number of enqueuers up to 76,000 messages a second.',
    grade: 'shape',
  },
  {
    id: 'A4',
    title: 'Unsharded gains little from threads or instances',
    document: 'The unsharded queue gains little from more threads or more instances (figure 3).',
    grade: 'shape',
  },
  {
    id: 'A5',
    title: 'Unsharded is best on one instance',
    document:
      'The unsharded queue is best on one instance, under 8,000 dequeues a second; several instances are slower, waiting for blocks that another session or instance holds.',
    grade: 'prose',
  },
  {
    id: 'A6',
    title: 'Unsharded dequeues fall behind enqueues',
    document:
      'At equal threads the unsharded dequeues fall behind the enqueues; the sharded enqueue rate scales like the dequeue rate (figure 4).',
    grade: 'shape',
  },
  {
    id: 'A7',
    title: 'Sharded dequeues four times as many messages per CPU',
    document:
      'At higher loads the sharded queue dequeues more than four times as many messages for its CPU as the unsharded one (figure 5).',
    grade: 'prose',
  },
  {
    id: 'A8',
    title: 'Sharded spreads the work evenly',
    document: 'The sharded queue spreads the work well between the instances (figure 5).',
    grade: 'shape',
  },
  {
    id: 'A9',
    title: 'A sharded dequeue takes under a millisecond',
    document: 'The latency of a dequeue from the sharded queue is typically under a millisecond.',
    grade: 'prose',
  },
  {
    id: 'A10',
    title: 'Commits and partitions limit the sharded queue',
    document:
      'What limits the sharded queue is the overhead of commits, as "log file sync" shows, together with partition maintenance.',
    grade: 'shape',
  },
  {
    id: 'A11',
    title: 'Large batches near 100,000 dequeues a second',
    document:
      'With much larger commit batches the sharded queue nears (by the caption of figure 6 passes) 100,000 dequeues a second, dequeuers keep up, and partition maintenance is the limit.',
    grade: 'prose',
  },
  {
    id: 'A12',
    title: 'A topic delivers 100,000 messages a second',
    document:
      'With 10 subscribers for each message the sharded topic makes about 100,000 dequeues a second (figure 7).',
    grade: 'prose',
  },
  {
    id: 'A13',
    title: 'An unsharded topic does not scale',
    document:
      'The throughput of the unsharded topic does not grow with threads or instances, which wait for each other\'s blocks ("buffer busy waits", figure 7).',
    grade: 'shape',
  },
  {
    id: 'A14',
    title: 'A sharded topic takes less than half the CPU',
    document: 'The sharded topic uses less than half of the CPU that the unsharded one uses.',
    grade: 'prose',
  },
  {
    id: 'A15',
    title: 'More instances do not slow enqueues to a topic',
    document: 'The enqueue rate of the sharded topic does not degrade as instances are added (figure 8).',
    grade: 'shape',
  },
  {
    id: 'A16',
    title: 'A topic does 150,000 operations a second with large batches',
    document:
      'With larger commit batches the sharded topic does about 150,000 enqueues and dequeues a second together, over half a billion an hour (figure 9).',
    grade: 'prose',
  },
  {
    id: 'A17',
    title: 'Each of eight instances stays under 10 % CPU',
    document: 'On each of the eight nodes the CPU stays under 10 % with the sharded topic (figure 10).',
    grade: 'prose',
  },
  {
    id: 'A18',
    title: 'A sharded topic responds as fast under load',
    document:
      'The average response time of a dequeue stays flat for the sharded topic, and rises with instances or dequeuers for the unsharded one (figure 11).',
    grade: 'shape',
  },
  {
    id: 'A19',
    title: 'Dequeuers of a sharded topic keep up',
    document: 'Dequeuers of the sharded topic keep up with its enqueuers.',
    grade: 'shape',
  },
];

/** Those of the figures, then what the document says in words beside them. */
export const claims: readonly Claim[] = [...figureClaims, ...wordClaims];

export const claimIds: readonly string[] = claims.map((claim) => claim.id);
