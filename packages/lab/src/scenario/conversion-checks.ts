/** Checks what a conversion requires of the rest of a scenario: an unsharded queue, and time before and after it. */
import type { Scenario } from '@shardlab/contract';
import { scaleScenario } from './expand-sweep.ts';
import type { ScenarioProblem } from './scenario-problems.ts';

export function checkConversion(scenario: Scenario): ScenarioProblem[] {
  const { conversion, sweep, workload, queue, faults } = scenario;
  if (conversion === undefined) return [];
  const found: ScenarioProblem[] = [];
  const sharded = sweep.implementation.indexOf('sharded');
  if (sharded >= 0) {
    const message = 'A conversion starts with an unsharded queue: the sweep must be "unsharded" only';
    found.push({ path: `/sweep/implementation/${sharded}`, message });
  }
  if (queue.type === 'topic') {
    found.push({ path: '/queue/type', message: 'Only queues can be converted, not topics' });
  }
  if (workload.sessions === 'remote') {
    found.push({ path: '/workload/sessions', message: 'Must be "embedded" if there is a conversion' });
  }
  if (faults !== undefined) {
    found.push({ path: '/faults', message: 'A scenario can have faults or a conversion, not both' });
  }
  const scales = scenario.quick === undefined ? (['full'] as const) : (['full', 'quick'] as const);
  const measureMs = Math.min(...scales.map((scale) => scaleScenario(scenario, scale).phases.measureMs));
  if (conversion.atMs >= measureMs) {
    const ends = measureMs.toLocaleString('en-US');
    const message = `Must be within the measured phase, which ends after ${ends} ms`;
    found.push({ path: '/conversion/atMs', message });
  }
  return found;
}
