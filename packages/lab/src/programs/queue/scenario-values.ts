/** Reads the values of the queue's parameters from a scenario, with their positions in it. */
import type { Scale, Scenario } from '@shardlab/contract';
import { sharesOneTable } from '../../systems/queue-systems.ts';
import { scaleScenario, scalesOf, valuesOf } from '../expand-sweep.ts';
import { type QueueParams, topicParameters } from './points/queue-params.ts';

type Name = keyof QueueParams;
type ValueOf<N extends Name> = NonNullable<QueueParams[N]>;

/** All values of a parameter at a scale; empty if it is left out and has no default. */
export function valuesIn<N extends Name>(scenario: Scenario, name: N, scale: Scale = 'full'): ValueOf<N>[] {
  const parameter = topicParameters.find((each) => each.name === name)!;
  const { sweep } = scaleScenario(scenario, scale);
  return [...(valuesOf({ parameters: scenario.parameters, sweep }, parameter) ?? [])] as ValueOf<N>[];
}

type NumberName = { [N in Name]-?: ValueOf<N> extends number ? N : never }[Name];

/** The largest value at the full scale; 0 if there is none. */
export const largest = (scenario: Scenario, name: NumberName): number =>
  Math.max(0, ...(valuesIn(scenario, name) as number[]));

/** The smallest value at any scale. */
export const smallest = (scenario: Scenario, name: NumberName): number =>
  Math.min(...scalesOf(scenario).flatMap((scale) => valuesIn(scenario, name, scale) as number[]));

/** JSON pointer to a value of a parameter; to where the parameter belongs if the value is its default. */
export function placeOf(scenario: Scenario, name: Name, value?: unknown): string {
  const axis = scenario.sweep[name];
  if (axis === undefined) return `/parameters/${name}`;
  const index = value === undefined ? -1 : (axis as unknown[]).indexOf(value);
  return index < 0 ? `/sweep/${name}` : `/sweep/${name}/${index}`;
}

/** JSON pointer to the first system that is an unsharded queue, or undefined if none is compared. */
export function placeOfUnsharded({ systems }: Scenario): string | undefined {
  const index = systems.findIndex(sharesOneTable);
  return index < 0 ? undefined : `/systems/${index}`;
}
