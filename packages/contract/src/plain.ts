/**
 * What of the contract has no schema, for the processes of a trial: they start in two thirds of the time without the schemas, and
 * one with eight instances starts eight of them.
 */
export { percentileTicks } from './percentile-ticks.ts';
export { queueLimits } from './queue-limits.ts';
export { sampledTraceLimits } from './sampled-trace-limits.ts';
