/** The plan of a run at its scale: the values of `quick` replace the others. */
import {
  isSwept,
  type Params,
  type ParamValue,
  type ProgramInfo,
  type Run,
  type Scenario,
} from '@shardlab/contract';

export type Planned = Pick<Run, 'scenario' | 'scale'>;

export function plannedSweep({ scenario, scale }: Planned): Scenario['sweep'] {
  return scale === 'quick' ? { ...scenario.sweep, ...scenario.quick?.sweep } : scenario.sweep;
}

export function plannedSystems({ scenario, scale }: Planned): readonly string[] {
  return (scale === 'quick' ? scenario.quick?.systems : undefined) ?? scenario.systems;
}

/** The planned values of a parameter, numbers only. */
export function plannedNumbers(run: Planned, name: string): number[] {
  const values: readonly (ParamValue | undefined)[] = plannedSweep(run)[name] ?? [
    run.scenario.parameters[name],
  ];
  return values.filter((value) => typeof value === 'number');
}

export interface PlannedCombination {
  system: string;
  /** Values of the parameters that vary. */
  params: Params;
}

/** Every combination, from the outermost parameter of the program to the innermost, and the systems inside of them. */
export function plannedCombinations(
  run: Planned,
  program: Pick<ProgramInfo, 'parameters'>,
): PlannedCombination[] {
  const sweep = plannedSweep(run);
  const all = variedParameters(sweep, program).reduce<Params[]>(
    (found, { name }) =>
      found.flatMap((params) => sweep[name]!.map((value) => ({ ...params, [name]: value }))),
    [{}],
  );
  const { scenario, scale } = run;
  return all.flatMap((params) =>
    plannedSystems(run)
      .filter((system) => isSwept(scenario, { scale, system, params }))
      .map((system) => ({ system, params })),
  );
}

/** Parameters with several values in a sweep, in the order of the program. */
export const variedParameters = (
  sweep: Scenario['sweep'],
  { parameters }: Pick<ProgramInfo, 'parameters'>,
): ProgramInfo['parameters'] => parameters.filter(({ name }) => (sweep[name]?.length ?? 0) > 1);
