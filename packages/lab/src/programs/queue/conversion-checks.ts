/** Checks what a conversion requires of the rest of a scenario: an unsharded queue, and time before and after it. */
import type { Scenario } from '@shardlab/contract';
import type { ScenarioProblem } from '../../errors/scenario-problems.ts';
import { scaleScenario, scalesOf } from '../expand-sweep.ts';
import { placeOf, valuesIn } from './scenario-values.ts';

export function checkConversion(scenario: Scenario): ScenarioProblem[] {
  const { conversion, faults } = scenario;
  if (conversion === undefined) return [];
  const found: ScenarioProblem[] = [];
  const other = scenario.systems.findIndex((system) => system !== 'unsharded');
  if (other >= 0) {
    const message = 'A conversion starts with an unsharded queue: the only system must be "unsharded"';
    found.push({ path: `/systems/${other}`, message });
  }
  if (scenario.program === 'topic') {
    found.push({ path: '/program', message: 'Only queues can be converted, not topics' });
  }
  if (valuesIn(scenario, 'sessions').includes('remote')) {
    const path = placeOf(scenario, 'sessions', 'remote');
    found.push({ path, message: 'Must be "embedded" if there is a conversion' });
  }
  if (faults !== undefined) {
    found.push({ path: '/faults', message: 'A scenario can have faults or a conversion, not both' });
  }
  const measureMs = Math.min(
    ...scalesOf(scenario).map((scale) => scaleScenario(scenario, scale).phases.measureMs),
  );
  if (conversion.atMs >= measureMs) {
    const ends = measureMs.toLocaleString('en-US');
    const message = `Must be within the measured phase, which ends after ${ends} ms`;
    found.push({ path: '/conversion/atMs', message });
  }
  return found;
}
