/** Public statistics of a flow of messages: how many there are, and how fast they come and go. */
import type { FlowStats } from '../api/queue-stats.ts';
import { estimateDrain, type Flow } from './rate-window.ts';

export type DepthCounts = Pick<FlowStats, 'depth' | 'ready' | 'held'>;

export function flowStats({ depth, ready, held }: DepthCounts, flow: Flow): FlowStats {
  const { state: drainState, ...estimate } = estimateDrain(depth, flow);
  return { depth, ready, held, windowMs: flow.windowMs, drainState, ...estimate };
}
