/** The public API of the models. Pure: no Node API, no clock, only seeded randomness, so it also runs in a browser. */

export { type Fit, type FitOptions, fit } from './fit/fit-hardware.ts';
export { type Minimum, type MinimumOptions, minimise } from './fit/nelder-mead.ts';
export { countSources, type SourceCounts, sourcesInWords } from './hardware/count-sources.ts';
export {
  type FreeParameter,
  type HardwareFile,
  hardwareLimits,
  type KnownSource,
  type Observation,
  type Sourced,
  type SourcedNumber,
} from './hardware/hardware-file.ts';
export { resolveHardware, sourcesOf, withParameters } from './hardware/resolve-hardware.ts';
export { type Prediction, predictWhitePaper } from './paper/predictions.ts';
export {
  type CostDraws,
  followsFromStructure,
  holdsOverDrawnCosts,
  type StructureCount,
} from './paper/structure.ts';
export { simulateWhitePaper, type WhitePaperPoints } from './paper/white-paper-sweeps.ts';
export {
  type AgreementFigure,
  type AgreementOptions,
  type AgreementRow,
  agreementAim,
  agreementFigures,
  agreementOf,
  type Comparison,
  compareWithMeasured,
  type FigureAgreement,
  isWithinAim,
  type MeasuredPoint,
  worstOf,
} from './sim/agreement.ts';
export type { ClusterCosts } from './sim/costs.ts';
export {
  bottleneckOf,
  type ResourceUse,
  type SimulatedTimes,
  type SimulatedWait,
  type SimulationResult,
} from './sim/result.ts';
export {
  type ScalingCase,
  type ScalingPoint,
  sessionsPerInstance,
  simulateScaling,
} from './sim/scaling.ts';
export type { StateName } from './sim/session-times.ts';
export { type SimulationOptions, simulate, simulateInSteps } from './sim/simulate.ts';
export { bestOf, type Sweep, type SweepOptions, type SweepPoint, simulateSweep } from './sim/sweep.ts';
export { assertWorkload, type ModelWorkload, workloadLimits } from './sim/workload.ts';
export {
  type Interval,
  meanInterval,
  median,
  repeatsMin,
  welchRatioInterval,
} from './statistics/intervals.ts';
export { type LeastSquares, nonNegativeLeastSquares } from './statistics/least-squares.ts';
export { fitLogLog, type LogLogFit } from './statistics/log-log-fit.ts';
export { Random } from './statistics/random.ts';
export {
  fitScalability,
  rateOf,
  type ScalabilityFit,
  type ScalabilityOptions,
  type ScalabilityPoint,
} from './statistics/scalability.ts';
export { studentT95 } from './statistics/student-t.ts';
