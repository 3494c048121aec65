/** Text for the metrics of a queue. */
import type { FlowMetrics, ShardMetrics } from '@shardlab/contract';
import { formatCount, formatDuration, formatValue } from './format.ts';

const drainStateLabels: Readonly<Record<FlowMetrics['drainState'], string>> = {
  empty: 'empty',
  draining: 'draining',
  growing: 'growing',
  steady: 'steady',
};

/** The time until the queue is empty; if it is not draining, its state. */
export function formatDrain({ drainState, drainMs }: Pick<FlowMetrics, 'drainState' | 'drainMs'>): string {
  return drainMs === null ? drainStateLabels[drainState] : formatDuration(drainMs);
}

/** Counts by state: "1 filling, 3 full". */
export function formatPartitions(partitions: ShardMetrics['partitions']): string {
  const counts = Object.entries(partitions).flatMap(([state, count]) =>
    count > 0 ? [`${formatCount(count)} ${state}`] : [],
  );
  return counts.join(', ') || 'none';
}

/** Share of first deliveries that were served from the cache: "98.2 %"; a dash before the first delivery. */
export function formatHitRatio({ hits, misses }: { hits: number; misses: number }): string {
  return hits + misses === 0 ? '–' : `${formatValue((hits * 100) / (hits + misses))} %`;
}
