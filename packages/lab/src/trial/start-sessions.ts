import { runDequeuer } from './dequeuer.ts';
import type { Enqueuer } from './enqueuer.ts';
import type { Workload } from './workload.ts';

/**
 * Starts all sessions of an instance: its enqueuers, and its dequeuers, as many at every outlet, so that sessions are
 * spread evenly over instances and subscribers. Enqueuers end when they are stopped, dequeuers when their outlet is empty
 * after the seal, or when the drain is over.
 */
export function startSessions(
  work: Workload,
  enqueuers: readonly Enqueuer[],
): { enqueuers: Promise<unknown>; dequeuers: Promise<unknown> } {
  const { dequeuers: each, layout } = work.config;
  const dequeuers = Promise.all(
    layout.outlets.flatMap((_, outletNo) => Array.from({ length: each }, () => runDequeuer(work, outletNo))),
  );
  return { enqueuers: Promise.all(enqueuers.map((enqueuer) => enqueuer.run())), dequeuers };
}
