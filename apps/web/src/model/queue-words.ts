/** Figures of a queue in words. */
import type { FlowFigures, ShardFigures } from '@shardlab/contract';
import { formatCount, formatDuration, formatValue } from './format.ts';

/** When it is empty: a length of time, or why there is none. */
export function drainWords({ drainState, drainMs }: Pick<FlowFigures, 'drainState' | 'drainMs'>): string {
  return drainMs === null ? drainState : formatDuration(drainMs);
}

/** "1 filling, 3 full"; what there is none of is left out. */
export function partitionWords(partitions: ShardFigures['partitions']): string {
  const words = Object.entries(partitions).flatMap(([state, count]) =>
    count > 0 ? [`${formatCount(count)} ${state}`] : [],
  );
  return words.join(', ') || 'none';
}

/** Share of first hand-outs that needed no read: "98.2 %"; a dash before the first. */
export function hitWords({ hits, misses }: { hits: number; misses: number }): string {
  return hits + misses === 0 ? '–' : `${formatValue((hits * 100) / (hits + misses))} %`;
}
