/** Sums the metrics of a queue over all instances that respond. */
import type { QueueStats } from '@shardlab/contract';
import { estimateDrain, type QueueStats as InstanceQueueStats, type QueueTotals } from '@shardlab/engine';

/** `parts` has at least one entry. Rates and counts are summed; the time to drain is estimated from the sums. */
export function sumQueueStats(parts: readonly InstanceQueueStats[]): QueueStats {
  const { queue, kind, type } = parts[0]!;
  return {
    queue,
    kind,
    type,
    asOfMs: Math.min(...parts.map(({ asOfMs }) => asOfMs)),
    total: sumTotals(parts.map(({ total }) => total)),
    instances: parts
      .map(
        ({ queue: _queue, kind: _kind, type: _type, deliveryLatency: _latency, ...instanceStats }) =>
          instanceStats,
      )
      .sort((a, b) => a.instance - b.instance),
  };
}

function sumTotals(totals: readonly QueueTotals[]): QueueTotals {
  if (totals.length === 1) return totals[0]!;
  const sum = (read: (total: QueueTotals) => number) => totals.reduce((all, total) => all + read(total), 0);
  const windowMs = Math.max(...totals.map((total) => total.windowMs));
  const depth = sum((total) => total.depth);
  const { state: drainState, ...estimate } = estimateDrain(depth, {
    windowMs,
    windowIn: sum((total) => (total.enqueuePerSec * windowMs) / 1000),
    windowOut: sum((total) => (total.dequeuePerSec * windowMs) / 1000),
  });
  return {
    depth,
    ready: sum((total) => total.ready),
    held: sum((total) => total.held),
    delayed: sum((total) => total.delayed),
    enqueued: sum((total) => total.enqueued),
    consumed: sum((total) => total.consumed),
    forwardedIn: sum((total) => total.forwardedIn),
    forwardedOut: sum((total) => total.forwardedOut),
    refused: sum((total) => total.refused),
    lost: sum((total) => total.lost),
    windowMs,
    drainState,
    ...estimate,
  };
}

/** Dequeue calls of all instances by the latency of their first message. */
export function sumDeliveryLatency(parts: readonly InstanceQueueStats[]): number[] {
  const [first, ...others] = parts.map(({ deliveryLatency }) => deliveryLatency);
  return first!.map((count, bucket) => others.reduce((sum, counts) => sum + counts[bucket]!, count));
}

/** Age of the oldest ready message in the caches of the instances, milliseconds; null if there is none. */
export function oldestReadyAgeMs(parts: readonly InstanceQueueStats[], nowMs: number): number | null {
  const times = parts
    .flatMap(({ subscribers }) => subscribers)
    .flatMap(({ oldestReadyAtMs }) => oldestReadyAtMs ?? []);
  return times.length === 0 ? null : Math.max(0, nowMs - Math.min(...times));
}
