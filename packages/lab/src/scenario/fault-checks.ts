/** What faults ask of the rest of a scenario: somebody must notice them, and somebody must be left to go on. */
import type { Scenario } from '@shardlab/contract';
import { scaleScenario } from './expand-sweep.ts';
import type { ScenarioFault } from './schema-faults.ts';

export function checkFaults(scenario: Scenario): ScenarioFault[] {
  const { faults } = scenario;
  if (faults === undefined) return [];
  return [
    ...checkSurroundings(scenario),
    ...faults.flatMap((_, index) => [...checkInstance(scenario, index), ...checkTime(scenario, index)]),
    ...checkOrder(faults),
  ];
}

function checkSurroundings({ workload, queue, sweep }: Scenario): ScenarioFault[] {
  const found: ScenarioFault[] = [];
  if (workload.sessions !== 'remote') {
    found.push({
      path: '/workload/sessions',
      message:
        'Must be "remote" where there are faults: an embedded session ends with the process of its instance',
    });
  }
  const unsharded = sweep.implementation.indexOf('unsharded');
  if (unsharded >= 0) {
    found.push({
      path: `/sweep/implementation/${unsharded}`,
      message: 'Faults are for sharded queues: an unsharded one lies in a file that every process opens',
    });
  }
  const message = 'A nonpersistent queue loses its messages with the process of its instance';
  const swept = sweep.durability?.indexOf('memory') ?? -1;
  if (swept >= 0) found.push({ path: `/sweep/durability/${swept}`, message });
  else if (sweep.durability === undefined && queue.durability === 'memory')
    found.push({ path: '/queue/durability', message });
  return found;
}

function checkInstance(scenario: Scenario, index: number): ScenarioFault[] {
  const { instance } = scenario.faults![index]!;
  const path = `/faults/${index}/instance`;
  const scaled = scales(scenario).map(({ sweep }) => sweep);
  const instances = Math.min(...scaled.flatMap((sweep) => sweep.instances));
  const threads = Math.min(...scaled.flatMap((sweep) => sweep.threads));
  if (instances < 2)
    return [{ path, message: 'Needs two instances or more at every point: one must be left to take over' }];
  if (instance > instances)
    return [{ path, message: `There is no instance ${instance} at the points of ${instances} instances` }];
  if (instance > threads) {
    const count = threads === 1 ? 'one thread' : `${threads} threads`;
    return [{ path, message: `Instance ${instance} has no sessions at the points of ${count}` }];
  }
  return [];
}

function checkTime(scenario: Scenario, index: number): ScenarioFault[] {
  const { atMs } = scenario.faults![index]!;
  const measureMs = Math.min(...scales(scenario).map(({ phases }) => phases.measureMs));
  if (atMs < measureMs) return [];
  return [
    {
      path: `/faults/${index}/atMs`,
      message: `Must lie in the measured phase, which ends after ${measureMs.toLocaleString('en-US')} ms`,
    },
  ];
}

/** Plays the faults through: who is down cannot be stopped, who is up cannot be started. */
function checkOrder(faults: NonNullable<Scenario['faults']>): ScenarioFault[] {
  const down = new Set<number>();
  for (const [index, { kind, instance, atMs }] of faults.entries()) {
    const before = faults[index - 1];
    if (before !== undefined && atMs <= before.atMs)
      return [
        { path: `/faults/${index}/atMs`, message: `Must come after the fault before, at ${before.atMs} ms` },
      ];
    const isDown = down.has(instance);
    if ((kind === 'start') !== isDown) {
      const state = isDown ? 'is down already' : 'is up already';
      return [{ path: `/faults/${index}/kind`, message: `Instance ${instance} ${state} at ${atMs} ms` }];
    }
    if (kind === 'start') down.delete(instance);
    else if (down.size > 0)
      return [
        { path: `/faults/${index}/instance`, message: 'Another instance is down already: one at a time' },
      ];
    else down.add(instance);
  }
  return [];
}

const scales = (scenario: Scenario) =>
  scenario.quick === undefined
    ? [scaleScenario(scenario, 'full')]
    : [scaleScenario(scenario, 'full'), scaleScenario(scenario, 'quick')];
