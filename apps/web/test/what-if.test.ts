import type { Hardware, Point } from '@shardlab/contract';
import { simulate } from '@shardlab/model';
import { describe, expect, test } from 'vitest';
import exadata from '../../../scenarios/hardware/exadata-x4-2.json' with { type: 'json' };
import { metrics } from '../src/model/metrics.ts';
import {
  isMeasuredSo,
  ownSettings,
  settingsOf,
  simulationRequest,
  sliderSteps,
  stepsWith,
  whatIfDefault,
} from '../src/model/what-if.ts';
import { modelErrors, type SimulatedPoint, whatIfSeries } from '../src/model/what-if-series.ts';
import { readWhatIfSearch, settingsIn } from '../src/views/what-if-search.ts';
import { recorded } from './fixtures/recorded.ts';

const hardware = exadata as unknown as Hardware;
const [measured] = recorded.run.points as [Point, ...Point[]];

describe('a request', () => {
  test('asks for both queues at each thread count, roughly first', () => {
    const { jobs } = simulationRequest(hardware, whatIfDefault, [1, 4]);
    const keys = ['sharded/1', 'unsharded/1', 'sharded/4', 'unsharded/4'];
    expect(jobs.map(({ key }) => key)).toEqual([...keys, ...keys]);
    expect(jobs[4]!.measureOperations).toBeGreaterThan(jobs[0]!.measureOperations);
  });

  test('has the machine’s own cores and sync unless a slider says otherwise', () => {
    const own = simulationRequest(hardware, whatIfDefault, [1]).costs;
    expect(own.machine.coresPerNode).toBe(24);
    const set = simulationRequest(hardware, { ...whatIfDefault, cores: 2, syncUs: 9_000 }, [1]).costs;
    expect(set.machine.coresPerNode).toBe(2);
    expect(set.redo.syncUs).toBe(9_000);
    expect({ ...set, machine: own.machine, redo: own.redo, unsharded: own.unsharded }).toEqual(own);
  });

  test.each(Object.entries(sliderSteps))('can be simulated at both ends of the slider %s', (name, steps) => {
    for (const value of [steps[0], steps.at(-1)!]) {
      const { costs, jobs } = simulationRequest(hardware, { ...whatIfDefault, [name]: value }, [4]);
      for (const { workload, measureOperations } of jobs.slice(-2)) {
        const { dequeuePerSec } = simulate({ costs, workload, measureOperations });
        expect(dequeuePerSec).toBeGreaterThan(0);
      }
    }
  });

  test('of a topic has a dequeuer for each subscriber', () => {
    const { jobs } = simulationRequest(hardware, { ...whatIfDefault, subscribers: 10 }, [4]);
    expect(jobs[0]!.workload).toMatchObject({ enqueuers: 4, dequeuers: 40, subscribers: 10 });
  });
});

test('a slider stops at its own value too', () => {
  expect(stepsWith([1, 10, 100], 24)).toEqual([1, 10, 24, 100]);
  expect(stepsWith([1, 10], 10)).toEqual([1, 10]);
});

test('the sliders of a measured point are those that it was measured with', () => {
  const settings = settingsOf(measured.params);
  const own = ownSettings(hardware);
  expect(isMeasuredSo(measured.params, settings, own)).toBe(true);
  expect(isMeasuredSo(measured.params, { ...settings, subscribers: 3 }, own)).toBe(false);
  // The paper's clients are remote ones.
  expect(isMeasuredSo(measured.params, { ...settings, roundTripMs: null }, own)).toBe(false);
});

describe('simulated and measured side by side', () => {
  const { costs, jobs } = simulationRequest(hardware, whatIfDefault, [1]);
  const job = jobs[0]!;
  const figures = simulate({ costs, workload: job.workload, measureOperations: 4_000 });
  const at = (dequeuePerSec: number): SimulatedPoint[] => [{ job, figures: { ...figures, dequeuePerSec } }];
  const point: Point = {
    ...measured,
    implementation: 'sharded',
    params: { ...measured.params, threads: 1 },
    dequeuePerSec: 1_000,
  };

  test('a rate that is over 20 % off misses, to either side', () => {
    expect(modelErrors(at(1_125), [point])).toMatchObject([{ misses: false, error: 0.125 }]);
    expect(modelErrors(at(1_300), [point])).toMatchObject([{ misses: true }]);
    expect(modelErrors(at(700), [point])).toMatchObject([{ misses: true }]);
  });

  test('points that nobody simulated are not compared', () => {
    const others = { ...point, params: { ...point.params, threads: 3 } };
    expect(modelErrors(at(1_000), [others])).toEqual([]);
  });

  test('are a dotted line and marks on top', () => {
    const series = whatIfSeries(at(1_100), [point], { metric: metrics.dequeue, instances: 1 });
    expect(series.map(({ id, drawnAs }) => [id, drawnAs])).toEqual([
      ['simulated/sharded', 'simulated'],
      ['measured/sharded', 'measured'],
    ]);
    expect(series.map(({ points }) => points[0]!.value)).toEqual([1_100, 1_000]);
  });
});

test('an address with nonsense in it shows the page as it begins', () => {
  expect(readWhatIfSearch({ instances: -1, operations: 'x', subscribers: 1e9, metric: 'no' })).toEqual({});
  expect(settingsIn({})).toEqual(whatIfDefault);
  const link = { instances: 8, syncUs: 5_000, hardware: 'exadata-x4-2', run: 'r', metric: 'p99' };
  expect(readWhatIfSearch(link)).toEqual(link);
});
