import type { Scenario } from '@shardlab/contract';
import { expandSweep, planFigures, planLoad, planRun, trialInWords } from '@shardlab/lab';
import { describe, expect, test } from 'vitest';
import { queueProgram } from '../src/programs/queue/queue-program.ts';
import { TimeLeft } from '../src/run/time-left.ts';
import { smallScenario } from './support.ts';

const scenario = smallScenario({
  repeats: 2,
  quick: { sweep: { threads: [2] }, phases: { warmupMs: 10, measureMs: 100, drainMs: 40 }, repeats: 1 },
});

describe('a sweep', () => {
  test('has every combination once, and varies the system fastest', () => {
    const combinations = expandSweep(scenario, 'full', queueProgram);
    expect(
      combinations.map(({ system, params }) => `${system} ${params.instances}×${params.threads}`),
    ).toEqual([
      'sharded 1×1',
      'unsharded 1×1',
      'sharded 1×2',
      'unsharded 1×2',
      'sharded 2×1',
      'unsharded 2×1',
      'sharded 2×2',
      'unsharded 2×2',
    ]);
    expect(combinations[0]!.params).toMatchObject({ payloadBytes: 64, operationsPerTransaction: 3 });
  });

  test('quick replaces the axes that it names and keeps the others', () => {
    expect(
      expandSweep(scenario, 'quick', queueProgram).map(({ params }) => [params.instances, params.threads]),
    ).toEqual([
      [1, 2],
      [1, 2],
      [2, 2],
      [2, 2],
    ]);
  });

  test('measures a system at some of the values where the scenario says so, in a quick run only without a sweep of its own', () => {
    const sweepOf = { unsharded: { threads: [2], instances: [1] } };
    const count = (of: Scenario, scale: 'full' | 'quick') =>
      expandSweep(of, scale, queueProgram).filter(({ system }) => system === 'unsharded');
    const full = count({ ...scenario, sweepOf }, 'full');
    expect(full.map(({ params }) => [params.instances, params.threads])).toEqual([[1, 2]]);
    expect(expandSweep({ ...scenario, sweepOf }, 'full', queueProgram)).toHaveLength(4 + 1);
    expect(count({ ...scenario, sweepOf }, 'quick')).toHaveLength(2);
    const { sweep: _, ...quick } = scenario.quick!;
    expect(count({ ...scenario, sweepOf, quick }, 'quick')).toHaveLength(1);
  });
});

describe('a plan', () => {
  test('runs all combinations once before it repeats any', () => {
    const { trials } = planRun(scenario, 'full');
    expect(trials.map((trial) => trial.repeat)).toEqual([...Array(8).fill(0), ...Array(8).fill(1)]);
    expect(trials.map((trial) => trial.index)).toEqual([...Array(16).keys()]);
    expect(trials[8]!.key).toBe(trials[0]!.key);
    expect(new Set(trials.map((trial) => trial.key)).size).toBe(8);
  });

  test('estimates more than its phases and grows with repeats', () => {
    const quick = planRun(scenario, 'quick');
    expect(quick.estimatedMs).toBeGreaterThan(4 * 110);
    expect(planRun({ ...scenario, quick: { ...scenario.quick, repeats: 3 } }, 'quick').estimatedMs).toBe(
      3 * quick.estimatedMs,
    );
  });

  test('says in words what a trial is', () => {
    const plan = planRun(scenario, 'full');
    expect(trialInWords(plan.trials[14]!, plan)).toBe('Sharded queue, 2 instances, 2 threads, repeat 2 of 2');
  });
});

describe('trials that are killed', () => {
  const kills = (changes: Partial<Scenario>) => {
    const plan = planRun(smallScenario({ kills: true, repeats: 2, ...changes }), 'full');
    return [...plan.kills];
  };
  const of = (changes: Partial<Scenario>) =>
    kills(changes).map(({ system, params }) => [system, params.durability]);

  test('are one for each system and durability that promises to survive a kill', () => {
    expect(of({})).toEqual([
      ['sharded', 'durable'],
      ['unsharded', 'durable'],
    ]);
    const durability = ['durable', 'relaxed', 'memory'];
    expect(of({ systems: ['sharded'], sweep: { durability, instances: [1], threads: [1, 2] } })).toEqual([
      ['sharded', 'durable'],
      ['sharded', 'relaxed'],
    ]);
  });

  test('of the study of Redis are one for each of our queues and each kind of list, whatever they promise', () => {
    const flowControl = (messagesMax: number) =>
      kills({
        program: 'flow-control',
        systems: ['null', 'buffered', 'redis-snapshot'],
        parameters: { payloadBytes: 64, messages: 20, messagesMax },
        sweep: {},
      }).map(({ system }) => system);
    expect(
      kills({
        program: 'run-to-completion',
        systems: ['null', 'sharded', 'buffered', 'redis-log-always', 'redis-snapshot-reliable', 'plainjob'],
        parameters: { payloadBytes: 64 },
        sweep: { messages: [10, 20] },
      }).map(({ system, repeat }) => [system, repeat]),
    ).toEqual([
      ['sharded', 0],
      ['buffered', 0],
      ['redis-log-always', 0],
      ['redis-snapshot-reliable', 0],
    ]);
    expect(flowControl(1_000)).toEqual(['buffered', 'redis-snapshot']);
    expect(flowControl(100)).toEqual([]);
  });

  test('are chosen by the seed, among all points, of the first repeat', () => {
    const points = (seed: number) =>
      kills({ seed }).map(({ params }) => `${params.instances}×${params.threads}`);
    expect(points(5)).toEqual(points(5));
    const seeds = Array.from({ length: 40 }, (_, seed) => seed);
    expect(new Set(seeds.flatMap(points)).size).toBe(4);
    expect(kills({}).map(({ repeat }) => repeat)).toEqual([0, 0]);
  });

  test('are none where the scenario says so or has faults of its own', () => {
    expect(kills({ kills: false })).toEqual([]);
    expect(kills({ faults: [{ kind: 'kill', instance: 1, atMs: 1 }] })).toEqual([]);
  });

  test('count in the estimate of the plan', () => {
    const [without, with_] = [false, true].map((kills) => planRun(smallScenario({ kills }), 'full'));
    expect(with_!.estimatedMs).toBeGreaterThan(without!.estimatedMs + 2_000);
    expect(new TimeLeft(with_!).etaMs()).toBe(with_!.estimatedMs);
    expect(planFigures(smallScenario({ kills: true }), 'full').estimatedMs).toBe(with_!.estimatedMs);
  });
});

describe('time left', () => {
  test('begins with the plan, follows the time that trials really take, and ends at zero', () => {
    const plan = planRun(scenario, 'quick');
    const left = new TimeLeft(plan);
    expect(left.etaMs()).toBe(plan.estimatedMs);
    const slow = (2 * plan.estimatedMs) / plan.trials.length;
    left.recordTrial(slow);
    left.recordTrial(slow);
    expect(left.etaMs()).toBeGreaterThan(plan.estimatedMs * 0.8);
    left.recordTrial(slow);
    left.recordTrial(slow);
    expect(left.etaMs()).toBe(0);
  });
});

describe('the load of a plan', () => {
  const of = (change: Partial<Scenario>, cores = 2) =>
    planLoad(smallScenario({ quick: { sweep: {} }, ...change }), 'full', { cores });

  test('is that of its largest trials', () => {
    expect(of({ sweep: { instances: [1, 2], threads: [4, 16] } }, 8)).toEqual({
      sessionsMax: 32,
      processesMax: 2,
      isPaced: false,
      coresBusyMax: 4,
      cores: 8,
    });
    expect(of({ sweep: { instances: [4], threads: [4] } })).toMatchObject({ coresBusyMax: 2, cores: 2 });
  });

  test('counts the dequeuers of each subscriber, and the processes of remote sessions', () => {
    const sweep = { instances: [2], threads: [8], subscribers: [1, 3] };
    const { parameters } = smallScenario();
    expect(of({ program: 'topic', sweep })).toMatchObject({ sessionsMax: 32, processesMax: 2 });
    const remote = {
      parameters: { ...parameters, sessions: 'remote' },
      sweep: { instances: [2], threads: [8] },
    };
    expect(of(remote)).toMatchObject({ sessionsMax: 16, processesMax: 4 });
  });

  test('is paced if sessions send at a given rate, and not if they send at a share of the maximum', () => {
    const open = (rate: Record<string, number>) =>
      of({
        program: 'open-loop',
        systems: ['sharded'],
        parameters: { payloadBytes: 64, ...rate },
        sweep: { operationsPerTransaction: [1, 10] },
      });
    expect(open({ messagesPerSec: 100 })).toMatchObject({ isPaced: true, sessionsMax: 64, processesMax: 1 });
    expect(open({ shareOfMaximum: 0.5 })).toMatchObject({ isPaced: false });
  });

  test('is unknown if no parameter gives the number of sessions', () => {
    expect(of({ program: 'listen-herd', systems: ['shared-topic'], parameters: {}, sweep: {} })).toBeNull();
  });
});

test.each(['full', 'quick'] as const)(
  'the figures of a plan of scale %s are those of its trials',
  (scale) => {
    const { trials, repeats, estimatedMs } = planRun(scenario, scale);
    expect(planFigures(scenario, scale)).toEqual({
      points: trials.length / repeats,
      trials: trials.length,
      estimatedMs,
    });
  },
);
