/** A scenario at one scale, and the combinations that are run. Pure. */
import {
  type Combination,
  isSwept,
  type Params,
  type ParamValue,
  type Phases,
  type Scale,
  type Scenario,
} from '@shardlab/contract';
import type { Program } from './program.ts';

/** A scenario at one scale: the values of `quick` replace the others. */
export interface ScaledScenario extends Pick<Scenario, 'systems' | 'sweep' | 'repeats'> {
  phases: Phases;
}

export function scaleScenario(scenario: Scenario, scale: Scale): ScaledScenario {
  const quick = scale === 'quick' ? scenario.quick : undefined;
  return {
    systems: quick?.systems ?? scenario.systems,
    sweep: { ...scenario.sweep, ...quick?.sweep },
    phases: quick?.phases ?? scenario.phases,
    repeats: quick?.repeats ?? scenario.repeats,
  };
}

/** The scales of a scenario whose values differ. */
export const scalesOf = ({ quick }: Scenario): readonly Scale[] =>
  quick === undefined ? ['full'] : ['full', 'quick'];

/** The values that a parameter has in a scenario; undefined if it is left out and has no default. */
export function valuesOf(
  { parameters, sweep }: Pick<Scenario, 'parameters' | 'sweep'>,
  { name, default: usual }: Pick<Program['parameters'][number], 'name' | 'default'>,
): readonly ParamValue[] | undefined {
  const single = parameters[name] ?? usual;
  return sweep[name] ?? (single === undefined ? undefined : [single]);
}

/**
 * Every combination of the sweep, with the system as the innermost loop: points that are compared run close together in
 * time, so that a machine that slows down during a run slows both.
 */
export function expandSweep(scenario: Scenario, scale: Scale, program: Program): Combination[] {
  const { sweep, systems } = scaleScenario(scenario, scale);
  let all: Params[] = [{}];
  for (const parameter of program.parameters) {
    const values = valuesOf({ parameters: scenario.parameters, sweep }, parameter);
    if (values !== undefined)
      all = all.flatMap((params) => values.map((value) => ({ ...params, [parameter.name]: value })));
  }
  return all.flatMap((params) =>
    systems
      .filter((system) => isSwept(scenario, { scale, system, params }))
      .map((system) => ({ program: program.id, system, params })),
  );
}

/** How many combinations a sweep has for systems that are measured at all of them, without building them. */
export function combinationCount({ sweep, systems }: Pick<Scenario, 'sweep' | 'systems'>): number {
  return Object.values(sweep).reduce((count, values) => count * values.length, systems.length);
}
