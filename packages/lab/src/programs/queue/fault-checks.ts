/** Checks what faults require of the rest of a scenario: remote sessions that observe them, and a surviving instance. */
import type { Scenario } from '@shardlab/contract';
import type { ScenarioProblem } from '../../errors/scenario-problems.ts';
import { scaleScenario, scalesOf } from '../expand-sweep.ts';
import { placeOf, placeOfUnsharded, smallest, valuesIn } from './scenario-values.ts';

export function checkFaults(scenario: Scenario): ScenarioProblem[] {
  const { faults } = scenario;
  if (faults === undefined) return [];
  return [
    ...checkFaultPreconditions(scenario),
    ...faults.flatMap((_, index) => [...checkInstance(scenario, index), ...checkTime(scenario, index)]),
    ...checkOrder(faults),
  ];
}

function checkFaultPreconditions(scenario: Scenario): ScenarioProblem[] {
  const found: ScenarioProblem[] = [];
  if (valuesIn(scenario, 'sessions').some((place) => place !== 'remote')) {
    found.push({
      path: placeOf(scenario, 'sessions'),
      message:
        'Must be "remote" if there are faults: embedded sessions end with the process of their instance',
    });
  }
  const unsharded = placeOfUnsharded(scenario);
  if (unsharded !== undefined) {
    found.push({
      path: unsharded,
      message: 'Faults require sharded queues: the file of unsharded queues is opened by every process',
    });
  }
  if (valuesIn(scenario, 'durability').includes('memory')) {
    const message = 'A nonpersistent queue loses its messages when the process of its instance ends';
    found.push({ path: placeOf(scenario, 'durability', 'memory'), message });
  }
  return found;
}

function checkInstance(scenario: Scenario, index: number): ScenarioProblem[] {
  const { instance } = scenario.faults![index]!;
  const path = `/faults/${index}/instance`;
  const instances = smallest(scenario, 'instances');
  const threads = smallest(scenario, 'threads');
  if (instances < 2)
    return [{ path, message: 'Requires at least two instances at every point, so that one can take over' }];
  if (instance > instances)
    return [{ path, message: `There is no instance ${instance} at the points with ${instances} instances` }];
  if (instance > threads) {
    const count = threads === 1 ? 'one thread' : `${threads} threads`;
    return [{ path, message: `Instance ${instance} has no sessions at the points with ${count}` }];
  }
  return [];
}

function checkTime(scenario: Scenario, index: number): ScenarioProblem[] {
  const { atMs } = scenario.faults![index]!;
  const measureMs = Math.min(
    ...scalesOf(scenario).map((scale) => scaleScenario(scenario, scale).phases.measureMs),
  );
  if (atMs < measureMs) return [];
  return [
    {
      path: `/faults/${index}/atMs`,
      message: `Must be within the measured phase, which ends after ${measureMs.toLocaleString('en-US')} ms`,
    },
  ];
}

/** Replays the faults in order: an instance that is down cannot be stopped, one that is up cannot be started. */
function checkOrder(faults: NonNullable<Scenario['faults']>): ScenarioProblem[] {
  const down = new Set<number>();
  for (const [index, { kind, instance, atMs }] of faults.entries()) {
    const before = faults[index - 1];
    if (before !== undefined && atMs <= before.atMs)
      return [
        {
          path: `/faults/${index}/atMs`,
          message: `Must be later than the previous fault, at ${before.atMs} ms`,
        },
      ];
    const isDown = down.has(instance);
    if ((kind === 'start') !== isDown) {
      const state = isDown ? 'is already down' : 'is already up';
      return [{ path: `/faults/${index}/kind`, message: `Instance ${instance} ${state} at ${atMs} ms` }];
    }
    if (kind === 'start') down.delete(instance);
    else if (down.size > 0)
      return [
        {
          path: `/faults/${index}/instance`,
          message: 'Another instance is already down; only one can be down at a time',
        },
      ];
    else down.add(instance);
  }
  return [];
}
