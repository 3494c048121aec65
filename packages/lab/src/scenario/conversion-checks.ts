/** What a conversion asks of the rest of a scenario: an unsharded queue, and time before and after it. */
import type { Scenario } from '@shardlab/contract';
import { scaleScenario } from './expand-sweep.ts';
import type { ScenarioFault } from './schema-faults.ts';

export function checkConversion(scenario: Scenario): ScenarioFault[] {
  const { conversion, sweep, workload, queue, faults } = scenario;
  if (conversion === undefined) return [];
  const found: ScenarioFault[] = [];
  const sharded = sweep.implementation.indexOf('sharded');
  if (sharded >= 0) {
    const message = 'A sharded queue is what a conversion leads to: sweep "unsharded" alone';
    found.push({ path: `/sweep/implementation/${sharded}`, message });
  }
  if (queue.type === 'topic') {
    found.push({ path: '/queue/type', message: 'A queue is converted, not a topic' });
  }
  if (workload.sessions === 'remote') {
    found.push({ path: '/workload/sessions', message: 'Must be "embedded" where there is a conversion' });
  }
  if (faults !== undefined) {
    found.push({ path: '/faults', message: 'A trial has faults or a conversion, not both' });
  }
  const scales = scenario.quick === undefined ? (['full'] as const) : (['full', 'quick'] as const);
  const measureMs = Math.min(...scales.map((scale) => scaleScenario(scenario, scale).phases.measureMs));
  if (conversion.atMs >= measureMs) {
    const ends = measureMs.toLocaleString('en-US');
    const message = `Must lie in the measured phase, which ends after ${ends} ms`;
    found.push({ path: '/conversion/atMs', message });
  }
  return found;
}
