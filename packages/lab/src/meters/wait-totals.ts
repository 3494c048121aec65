/** Sums and differences of wait events. */
import type { WaitSummary } from '@shardlab/contract';
import { type WaitStats, waitBucketsPerDoubling, waitQuantileMs } from '@shardlab/engine';

/** The waits between two snapshots of one instance. */
export function waitsBetween(before: readonly WaitStats[], after: readonly WaitStats[]): WaitStats[] {
  return after.map((stats) => {
    const earlier = before.find((other) => other.event === stats.event);
    if (earlier === undefined) return stats;
    return {
      ...stats,
      waits: stats.waits - earlier.waits,
      totalMs: stats.totalMs - earlier.totalMs,
      buckets: stats.buckets.map((count, index) => count - (earlier.buckets[index] ?? 0)),
    };
  });
}

/** The summed waits of several instances or repeats. */
export function mergeWaits(all: readonly (readonly WaitStats[])[]): WaitStats[] {
  const merged = new Map<string, WaitStats>();
  for (const stats of all.flat()) {
    const known = merged.get(stats.event);
    merged.set(
      stats.event,
      known === undefined
        ? stats
        : {
            ...known,
            emulated: known.emulated || stats.emulated, // where the waits were, and not where the name is only known
            waits: known.waits + stats.waits,
            totalMs: known.totalMs + stats.totalMs,
            buckets: known.buckets.map((count, index) => count + (stats.buckets[index] ?? 0)),
          },
    );
  }
  return [...merged.values()];
}

/** Summarises waits for display: longest total first, without events that did not occur. */
export function summariseWaits(stats: readonly WaitStats[]): WaitSummary[] {
  return stats
    .filter(({ waits }) => waits > 0)
    .map(({ event, class: waitClass, waits, totalMs, emulated, buckets }) => ({
      event,
      class: waitClass,
      waits,
      totalMs: Number(totalMs.toFixed(3)),
      p99Ms: Number(waitQuantileMs(buckets, 0.99).toFixed(4)),
      emulated,
      ...histogramOf(buckets),
    }))
    .sort((a, b) => b.totalMs - a.totalMs);
}

/**
 * The histogram by powers of two, which is the resolution of charts, without empty buckets at the end. Empty if no durations were
 * kept.
 */
function histogramOf(buckets: readonly number[]): Pick<WaitSummary, 'histogram'> {
  const histogram: number[] = [];
  for (const [index, count] of buckets.entries()) {
    if (count === 0) continue;
    const power = Math.ceil(index / waitBucketsPerDoubling);
    while (histogram.length <= power) histogram.push(0);
    histogram[power]! += count;
  }
  return histogram.length === 0 ? {} : { histogram };
}

/** Waiting time in milliseconds by wait class. */
export function waitMsByClass(stats: readonly WaitStats[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { class: waitClass, totalMs } of stats) sums[waitClass] = (sums[waitClass] ?? 0) + totalMs;
  return sums;
}
