/** All that is public of the models. Pure: no Node, no clock, no randomness but seeded, so it also runs in a browser. */

export type { ClusterCosts } from './hardware/costs.ts';
export { type Interval, median, ratioInterval, spread } from './intervals.ts';
export { fitLogLog, type LogLogFit } from './log-log-fit.ts';
export { Random } from './random.ts';
export {
  bottleneckOf,
  type ResourceUse,
  type SimulatedTimes,
  type SimulatedWait,
  type SimulationResult,
} from './sim/result.ts';
export { type SimulationOptions, simulate } from './sim/simulate.ts';
export type { StateName } from './sim/time-book.ts';
export { assertWorkload, type ModelWorkload, workloadLimits } from './sim/workload.ts';
export { studentT95 } from './student-t.ts';
