/** From a scenario to the combinations that are run. Pure; the same on the command line, in the server and in tests. */
import type { Implementation, PointParams, Scale, Scenario } from '@shardlab/contract';

/** A scenario as it is at one scale: `quick` replaces what it names, the rest stays. */
export interface ScaledScenario {
  sweep: Scenario['sweep'];
  phases: Scenario['phases'];
  repeats: number;
}

export function scaleScenario(scenario: Scenario, scale: Scale): ScaledScenario {
  const quick = scale === 'quick' ? scenario.quick : undefined;
  return {
    sweep: { ...scenario.sweep, ...quick?.sweep },
    phases: quick?.phases ?? scenario.phases,
    repeats: quick?.repeats ?? scenario.repeats,
  };
}

export interface Combination {
  implementation: Implementation;
  params: PointParams;
}

/**
 * Every combination of the sweep, with the implementation innermost: what is compared runs close together in time, so
 * that a machine that slows down in the middle of a run slows both.
 */
export function expandSweep(scenario: Scenario, scale: Scale): Combination[] {
  const { sweep } = scaleScenario(scenario, scale);
  const { payloadBytes, operationsPerTransaction } = scenario.workload;
  const combinations: Combination[] = [];
  for (const roundTripMs of sweep.roundTripMs)
    for (const instances of sweep.instances)
      for (const threads of sweep.threads)
        for (const implementation of sweep.implementation)
          combinations.push({
            implementation,
            params: { instances, threads, roundTripMs, payloadBytes, operationsPerTransaction },
          });
  return combinations;
}

/** How many combinations a sweep has, without building them. */
export function combinationCount(sweep: Scenario['sweep']): number {
  return (
    sweep.implementation.length * sweep.instances.length * sweep.threads.length * sweep.roundTripMs.length
  );
}
