/** Finds the free parameters of a hardware file that reproduce its observations best. */
import {
  type FreeParameter,
  type HardwareFile,
  hardwareLimits,
  type Observation,
} from '../hardware/hardware-file.ts';
import { resolveHardware, withParameters } from '../hardware/resolve-hardware.ts';
import { bestOf, simulateSweep } from '../sim/sweep.ts';
import { minimise } from './nelder-mead.ts';

export interface FitOptions {
  /** Default 1. The same seed gives the same fit. */
  seed?: number;
  evaluationsMax?: number;
  /** Scales how long each point is simulated; default 1. */
  effort?: number;
  /** Called after each evaluation. */
  onProgress?: (evaluations: number, error: number) => void;
}

export interface Fit {
  hardware: HardwareFile;
  /** Root of the mean square of the logs of simulated ÷ observed: about the typical relative error. */
  error: number;
  residuals: { claim: string; says: string; observed: number; simulated: number }[];
  evaluations: number;
}

/**
 * A downhill simplex over the logs of the parameters. Every evaluation uses the same seed, so that differences between two
 * evaluations come from the parameters only. Throws a RangeError if there is nothing to fit, or too much.
 */
export function fit(
  hardware: HardwareFile,
  observations: readonly Observation[] = hardware.observations,
  options: FitOptions = {},
): Fit {
  const { seed = 1, effort = 1, evaluationsMax = 150, onProgress } = options;
  const names = Object.keys(hardware.parameters);
  if (names.length === 0 || names.length > hardwareLimits.parametersMax) {
    throw new RangeError(
      `a fit needs 1 to ${hardwareLimits.parametersMax} free parameters, not ${names.length}`,
    );
  }
  if (observations.length < names.length) {
    throw new RangeError(`${observations.length} observations cannot decide ${names.length} parameters`);
  }
  const parameters = names.map((name) => hardware.parameters[name]!);
  const at = (logs: readonly number[]) =>
    withParameters(
      hardware,
      Object.fromEntries(names.map((name, index) => [name, inBounds(parameters[index]!, logs[index]!)])),
    );
  let evaluations = 0;
  const errorAt = (logs: readonly number[]): number => {
    const error = errorOf(residualsOf(at(logs), observations, { seed, effort }));
    evaluations += 1;
    onProgress?.(evaluations, error);
    // Outside the bounds the parameters are clamped, and a growing penalty leads back.
    return error + outside(parameters, logs);
  };
  const found = minimise(errorAt, {
    // Starts in the middle of the bounds, so that a fit does not depend on the previous one.
    start: parameters.map(({ low, high }) => Math.log(low * high) / 2),
    step: 0.7,
    tolerance: 0.004,
    evaluationsMax,
  });
  const fitted = at(found.at);
  const residuals = residualsOf(fitted, observations, { seed, effort });
  return { hardware: fitted, error: errorOf(residuals), residuals, evaluations };
}

function residualsOf(
  hardware: HardwareFile,
  observations: readonly Observation[],
  options: { seed: number; effort: number },
): Fit['residuals'] {
  const costs = resolveHardware(hardware);
  return observations.map(({ claim, says, dequeuePerSec, sweep }) => ({
    claim,
    says,
    observed: dequeuePerSec,
    simulated: bestOf(simulateSweep(costs, sweep, options)).result.dequeuePerSec,
  }));
}

function errorOf(residuals: Fit['residuals']): number {
  const squares = residuals.map(({ observed, simulated }) => Math.log(simulated / observed) ** 2);
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length);
}

function inBounds({ low, high }: FreeParameter, log: number): number {
  return Math.min(high, Math.max(low, Math.exp(log)));
}

function outside(parameters: readonly FreeParameter[], logs: readonly number[]): number {
  return parameters.reduce(
    (sum, { low, high }, index) =>
      sum + Math.max(0, logs[index]! - Math.log(high)) + Math.max(0, Math.log(low) - logs[index]!),
    0,
  );
}
