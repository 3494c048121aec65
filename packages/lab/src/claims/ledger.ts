/** The claims that the lab can judge, as data: what the document says, in our words (see the documents' ledger). */
import type { ClaimResult } from '@shardlab/contract';

export interface Claim {
  id: string;
  title: string;
  /** What the document says, in our words. */
  document: string;
  grade: ClaimResult['grade'];
}

/** The document's own numbers that judges compare with. */
export const whitePaper = {
  shardedDequeuePerSec: 76_000,
  unshardedDequeuePerSec: 8_000,
  /** A1's line is stated up to this many threads. */
  threadsMax: 32,
  nodes: 8,
  coresPerNode: 24,
} as const;

export const claims: readonly Claim[] = [
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
];

export const claimIds: readonly string[] = claims.map((claim) => claim.id);
