/** Expands a scenario into the combinations that are run. Pure. */
import type { Implementation, PointParams, Scale, Scenario } from '@shardlab/contract';

/** A scenario at one scale: the values of `quick` replace the others. */
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
 * Every combination of the sweep, with the implementation as the innermost loop: points that are compared run close
 * together in time, so that a machine that slows down during a run slows both.
 */
export function expandSweep(scenario: Scenario, scale: Scale): Combination[] {
  const { sweep } = scaleScenario(scenario, scale);
  const { payloadBytes, operationsPerTransaction, subscribers } = scenario.workload;
  const axes: { [axis in keyof PointParams]?: readonly unknown[] | undefined } = {
    roundTripMs: sweep.roundTripMs,
    cacheMiB: sweep.cacheMiB,
    rows: sweep.rows,
    durability: sweep.durability,
    payloadBytes: sweep.payloadBytes ?? [payloadBytes],
    operationsPerTransaction: sweep.operationsPerTransaction ?? [operationsPerTransaction],
    backlog: sweep.backlog,
    subscribers: sweep.subscribers ?? (subscribers === undefined ? undefined : [subscribers]),
    dequeuers: sweep.dequeuers,
    instances: sweep.instances,
    threads: sweep.threads,
  };
  let all: Partial<PointParams>[] = [{}];
  for (const [axis, values] of Object.entries(axes)) {
    if (values !== undefined)
      all = all.flatMap((params) => values.map((value) => ({ ...params, [axis]: value })));
  }
  return all.flatMap((params) =>
    sweep.implementation.map((implementation) => ({ implementation, params: params as PointParams })),
  );
}

/** How many combinations a sweep has, without building them. */
export function combinationCount(sweep: Scenario['sweep']): number {
  return Object.values(sweep).reduce((count, values) => count * values.length, 1);
}
