import {
  fit,
  type HardwareFile,
  minimise,
  type Observation,
  resolveHardware,
  simulate,
} from '@shardlab/model';
import { describe, expect, test } from 'vitest';
import { clusterLike, workloadWith } from './model-costs.ts';

const known = <T>(value: T) => ({ source: 'built' as const, value });
const times = (parameter: string, count: number) => ({ source: 'fitted' as const, parameter, times: count });

/** The cluster of `model-costs.ts` as a hardware file. CPU, round trip and maintenance are free parameters, all else is known. */
function smallFile(values: { step: number; trip: number; maintenance: number }): HardwareFile {
  const source = (node: unknown): unknown =>
    node !== null && typeof node === 'object'
      ? Object.fromEntries(Object.entries(node).map(([name, child]) => [name, source(child)]))
      : node === null
        ? null
        : known(node);
  const costs = source(clusterLike) as HardwareFile['costs'];
  costs.sharded.enqueueUs = times('step', 1);
  costs.sharded.dequeueUs = times('step', 1);
  costs.sharded.callUs = times('step', 1);
  costs.sessions.roundTripUs = times('trip', 1);
  costs.maintenance.partitionUs = times('maintenance', 1);
  const parameter = (value: number) => ({ value, low: 0.1, high: 10_000, meaning: 'for a test' });
  return {
    version: 1,
    id: 'small',
    title: 'Small',
    about: 'For tests',
    parameters: {
      step: parameter(values.step),
      trip: parameter(values.trip),
      maintenance: parameter(values.maintenance),
    },
    observations: [],
    costs,
  };
}

const sweep = { kind: 'sharded' as const, subscribers: 1, operationsPerTransaction: 10, payloadBytes: 512 };
/** Three workloads, whose rates are limited by the round trip, by the cores, and by partition maintenance. */
const sweeps = [
  { ...sweep, instances: [1], threads: [4] },
  { ...sweep, instances: [1], threads: [64], operationsPerTransaction: 5 },
  { ...sweep, instances: [8], threads: [200] },
];

function observe(file: HardwareFile): Observation[] {
  const costs = resolveHardware(file);
  return sweeps.map((each, index) => ({
    claim: `T${index}`,
    says: 'simulated',
    sweep: each,
    dequeuePerSec: simulate({
      costs,
      seed: 99,
      workload: workloadWith({
        instances: each.instances[0]!,
        enqueuers: each.threads[0]!,
        dequeuers: each.threads[0]!,
        operationsPerTransaction: each.operationsPerTransaction,
      }),
      measureOperations: 60_000,
    }).dequeuePerSec,
  }));
}

/** Observations that several tests share; they are the same each time, so they are simulated once. */
const smallObservations = observe(smallFile({ step: 100, trip: 400, maintenance: 5 }));
const observedTimes = (factor: number) =>
  smallObservations.map((each) => ({ ...each, dequeuePerSec: each.dequeuePerSec * factor }));

describe('the fit of a hardware file', () => {
  test('finds the parameters that observations were made with', () => {
    const truth = smallFile({ step: 150, trip: 500, maintenance: 4 });
    const observations = observe(truth);
    const start = smallFile({ step: 80, trip: 900, maintenance: 7 });
    const found = fit(start, observations, { effort: 0.5 });
    expect(found.error).toBeLessThan(0.02);
    const { step, trip, maintenance } = found.hardware.parameters;
    expect(Math.abs(step!.value / 150 - 1)).toBeLessThan(0.15);
    expect(Math.abs(trip!.value / 500 - 1)).toBeLessThan(0.15);
    expect(Math.abs(maintenance!.value / 4 - 1)).toBeLessThan(0.1);
    expect(found.residuals.map(({ claim }) => claim)).toEqual(['T0', 'T1', 'T2']);
  }, 300_000);

  test('gives the same result for the same seed', () => {
    const file = smallFile({ step: 100, trip: 400, maintenance: 5 });
    const run = () => fit(file, observedTimes(0.8), { effort: 0.1, evaluationsMax: 12 });
    expect(run()).toEqual(run());
  });

  test('keeps parameters within their bounds', () => {
    const file = smallFile({ step: 100, trip: 400, maintenance: 5 });
    file.parameters.trip!.low = 300;
    const { hardware } = fit(file, observedTimes(5), { effort: 0.1, evaluationsMax: 40 });
    expect(hardware.parameters.trip!.value).toBeGreaterThanOrEqual(300);
  });

  test('refuses more parameters than observations, and more than three', () => {
    const file = smallFile({ step: 100, trip: 400, maintenance: 5 });
    expect(() => fit(file, smallObservations.slice(0, 2))).toThrow(
      '2 observations cannot decide 3 parameters',
    );
    file.parameters.fourth = { value: 1, low: 1, high: 2, meaning: 'too many' };
    expect(() => fit(file, smallObservations)).toThrow('1 to 3 free parameters, not 4');
  });

  test('a cost that names no parameter is refused', () => {
    const file = smallFile({ step: 1, trip: 1, maintenance: 1 });
    file.costs.interconnectUs = times('nothing', 2);
    expect(() => resolveHardware(file)).toThrow('no free parameter "nothing"');
  });
});

describe('the downhill simplex', () => {
  test('finds the minimum of a curved valley', () => {
    const valley = ([x, y]: readonly number[]) => (1 - x!) ** 2 + 100 * (y! - x! ** 2) ** 2;
    const found = minimise(valley, { start: [-1.2, 1], step: 0.5, tolerance: 1e-12, evaluationsMax: 500 });
    expect(found.at[0]).toBeCloseTo(1, 3);
    expect(found.at[1]).toBeCloseTo(1, 3);
  });

  test('stops at its bound of evaluations', () => {
    let calls = 0;
    const { evaluations } = minimise(
      ([x]) => {
        calls += 1;
        return -x!;
      },
      { start: [0], step: 1, tolerance: 0, evaluationsMax: 20 },
    );
    expect(evaluations).toBe(calls);
    expect(calls).toBeLessThan(24);
  });
});
