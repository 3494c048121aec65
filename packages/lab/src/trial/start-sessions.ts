import { runDequeuer } from './dequeuer.ts';
import { runEnqueuer } from './enqueuer.ts';
import type { Workload } from './workload.ts';

/**
 * Starts all sessions of an instance, as many dequeuers as enqueuers. Enqueuers end when they are stopped, dequeuers
 * when the queue is empty after the seal, or when the drain is over.
 */
export function startSessions(work: Workload): { enqueuers: Promise<unknown>; dequeuers: Promise<unknown> } {
  const numbers = work.config.enqueuers;
  const dequeuers = Promise.all(numbers.map(() => runDequeuer(work)));
  return { enqueuers: Promise.all(numbers.map((enqueuer) => runEnqueuer(work, enqueuer))), dequeuers };
}
