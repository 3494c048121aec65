import type { Scenario } from '@shardlab/contract';
import { parseScenario, type ScenarioProblem } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { smallScenario } from './support.ts';

type Faults = NonNullable<Scenario['faults']>;
const kill: Faults[number] = { kind: 'kill', instance: 2, atMs: 50 };

function scenario(faults: unknown, changes: Partial<Scenario> = {}): unknown {
  const base = smallScenario({
    systems: ['sharded'],
    sweep: { instances: [2, 3], threads: [4] },
    phases: { warmupMs: 10, measureMs: 1_000, drainMs: 100 },
    ...changes,
    parameters: { sessions: 'remote', ...changes.parameters },
  });
  return { ...base, faults };
}

function faultsOf(input: unknown): ScenarioProblem[] {
  const parsed = parseScenario(input);
  return parsed.ok ? [] : parsed.faults;
}

test('a kill and a later start of the same instance are valid', () => {
  expect(faultsOf(scenario([kill, { kind: 'start', instance: 2, atMs: 600 }]))).toEqual([]);
});

describe('an invalid fault is reported at its path', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['of an unknown kind', scenario([{ ...kill, kind: 'crash' }]), '/faults/0/kind', /one of "kill"/],
    ['without a time', scenario([{ kind: 'kill', instance: 2 }]), '/faults/0/atMs', /missing/],
    ['none at all', scenario([]), '/faults', /at least 1 item/],
    [
      'after the measured phase',
      scenario([{ ...kill, atMs: 1_000 }]),
      '/faults/0/atMs',
      /ends after 1,000 ms/,
    ],
    [
      'after that of quick',
      scenario([{ ...kill, atMs: 500 }], {
        quick: { phases: { warmupMs: 0, measureMs: 400, drainMs: 0 } },
      }),
      '/faults/0/atMs',
      /ends after 400 ms/,
    ],
    [
      'at an instance that is not there',
      scenario([{ ...kill, instance: 3 }]),
      '/faults/0/instance',
      /no instance 3/,
    ],
    [
      'with nobody to take over',
      scenario([kill], {
        systems: ['sharded'],
        sweep: { instances: [1, 2], threads: [4] },
      }),
      '/faults/0/instance',
      /at least two instances/,
    ],
    [
      'where nobody would notice',
      scenario([kill], {
        systems: ['sharded'],
        sweep: { instances: [2], threads: [1, 4] },
      }),
      '/faults/0/instance',
      /no sessions at the points with one thread/,
    ],
    [
      'before the one before',
      scenario([kill, { ...kill, instance: 1, atMs: 40 }]),
      '/faults/1/atMs',
      /later than the previous fault/,
    ],
    ['of one that is down', scenario([kill, { ...kill, atMs: 60 }]), '/faults/1/kind', /already down/],
    ['starting one that is up', scenario([{ ...kill, kind: 'start' }]), '/faults/0/kind', /already up/],
    [
      'of the last but one',
      scenario([kill, { ...kill, instance: 1, atMs: 60 }]),
      '/faults/1/instance',
      /only one can be down/,
    ],
    [
      'with embedded sessions',
      { ...smallScenario(), faults: [kill] },
      '/parameters/sessions',
      /Must be "remote"/,
    ],
    [
      'of a nonpersistent queue',
      scenario([kill], { parameters: { durability: 'memory' } }),
      '/parameters/durability',
      /loses its messages/,
    ],
    [
      'of a grouped unsharded queue',
      scenario([kill], {
        systems: ['sharded', 'unsharded-grouped'],
        sweep: { instances: [2], threads: [4] },
      }),
      '/systems/1',
      /opened by every process/,
    ],
    [
      'of an unsharded queue',
      scenario([kill], {
        systems: ['sharded', 'unsharded'],
        sweep: { instances: [2], threads: [4] },
      }),
      '/systems/1',
      /opened by every process/,
    ],
  ])('%s', (_, input, path, message) => {
    const found = faultsOf(input).find((fault) => fault.path === path);
    expect(found?.message).toMatch(message);
  });
});
