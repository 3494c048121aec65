import { runDequeuer } from './dequeuer.ts';
import type { Enqueuer } from './enqueuer.ts';
import type { Workload } from './workload.ts';

/**
 * Starts all sessions of an instance: its enqueuers, and for each of them a dequeuer at every outlet, so that sessions are
 * spread evenly over instances and subscribers. Enqueuers end when they are stopped, dequeuers when their outlet is empty
 * after the seal, or when the drain is over.
 */
export function startSessions(
  work: Workload,
  enqueuers: readonly Enqueuer[],
): { enqueuers: Promise<unknown>; dequeuers: Promise<unknown> } {
  const dequeuers = Promise.all(
    enqueuers.flatMap(() => work.config.layout.outlets.map((_, outletNo) => runDequeuer(work, outletNo))),
  );
  return { enqueuers: Promise.all(enqueuers.map((enqueuer) => enqueuer.run())), dequeuers };
}
