import { Dequeuer } from './dequeuer.ts';
import type { Enqueuer } from './enqueuer.ts';
import type { Workload } from './workload.ts';

/**
 * Starts all sessions of an instance: its enqueuers, and the same number of dequeuers for every source, so that sessions
 * are spread evenly over instances and subscribers. Enqueuers run until they are stopped, dequeuers until their source is
 * empty after the last enqueue, or the drain has ended.
 */
export function startSessions(
  work: Workload,
  enqueuers: readonly Enqueuer[],
): { enqueuers: Promise<unknown>; dequeuers: Promise<unknown> } {
  const { dequeuers: each, layout } = work.config;
  const dequeuers = Promise.all(
    layout.dequeueSources.flatMap((_, sourceIndex) =>
      Array.from({ length: each }, (_, number) => new Dequeuer(work, { sourceIndex, number }).run()),
    ),
  );
  return { enqueuers: Promise.all(enqueuers.map((enqueuer) => enqueuer.run())), dequeuers };
}
