/**
 * The part of the contract without schemas, for the processes of a trial: without the schemas they start in two thirds of the
 * time, and a trial with eight instances starts eight of them.
 */
export { percentileTicks } from './percentile-ticks.ts';
export { queueLimits } from './queue-limits.ts';
export { sampledTraceLimits } from './sampled-trace-limits.ts';
