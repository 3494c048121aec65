import type { Hardware, Point } from '@shardlab/contract';
import { simulate } from '@shardlab/model';
import { describe, expect, test } from 'vitest';
import exadata from '../../../scenarios/hardware/exadata-x4-2.json' with { type: 'json' };
import {
  machineSettings,
  matchesSettings,
  type SimulationJob,
  settingsOfPoint,
  simulationRequest,
  sliderSteps,
  stepsIncluding,
  whatIfDefault,
} from '../src/model/what-if.ts';
import {
  comparedFigures,
  modelErrors,
  type SimulatedPoint,
  simulatedMetrics,
  whatIfSeries,
} from '../src/model/what-if-series.ts';
import { readWhatIfSearch, settingsFromSearch } from '../src/pages/what-if/what-if-search.ts';
import { metric } from './fixtures/program.ts';
import { recorded } from './fixtures/recorded.ts';

const hardware = exadata as unknown as Hardware;
const [measured] = recorded.run.points as [Point, ...Point[]];

describe('a simulation request', () => {
  test('contains both systems at each number of threads, in passes with more and more operations', () => {
    const { passes } = simulationRequest(hardware, whatIfDefault, [1, 4]);
    const keys = ['sharded/1', 'unsharded/1', 'sharded/4', 'unsharded/4'];
    for (const jobs of passes) expect(jobs.map(({ key }) => key)).toEqual(keys);
    const operations = passes.map((jobs) => jobs[0]!.measureOperations);
    expect(operations).toEqual(operations.toSorted((a, b) => a - b));
    expect(new Set(operations).size).toBe(passes.length);
  });

  test('leaves a point out of a pass that is too short for every session to commit', () => {
    const { passes } = simulationRequest(hardware, { ...whatIfDefault, operations: 1000 }, [1, 64]);
    const threads = passes.map((jobs) => [...new Set(jobs.map((job) => job.threads))]);
    expect(threads).toEqual([[1], [1], [1, 64]]);
    for (const { workload, warmupOperations, measureOperations } of passes.at(-1)!) {
      const round = (workload.enqueuers + workload.dequeuers) * 1000;
      expect(warmupOperations).toBeGreaterThanOrEqual(round);
      expect(measureOperations).toBeGreaterThanOrEqual(2 * round);
    }
  });

  test('has the position of the sliders', () => {
    const { position } = simulationRequest(hardware, whatIfDefault, [1], ['redoDevice']);
    expect(position).toEqual({ machine: hardware.title, settings: whatIfDefault, without: ['redoDevice'] });
  });

  test('uses the cores and the sync time of the machine unless a slider is set', () => {
    const defaults = simulationRequest(hardware, whatIfDefault, [1]).costs;
    expect(defaults.machine.coresPerNode).toBe(24);
    const set = simulationRequest(hardware, { ...whatIfDefault, cores: 2, syncUs: 9_000 }, [1]).costs;
    expect(set.machine.coresPerNode).toBe(2);
    expect(set.redo.syncUs).toBe(9_000);
    expect({ ...set, machine: defaults.machine, redo: defaults.redo, unsharded: defaults.unsharded }).toEqual(
      defaults,
    );
  });

  test.each(Object.entries(sliderSteps))('can be simulated at both ends of the slider %s', (name, steps) => {
    for (const value of [steps[0], steps.at(-1)!]) {
      const { costs, passes } = simulationRequest(hardware, { ...whatIfDefault, [name]: value }, [4]);
      for (const system of ['sharded', 'unsharded']) {
        const rates = passes.flat().filter((job) => job.system === system);
        const isAnswered = ({ workload, warmupOperations, measureOperations }: SimulationJob) =>
          simulate({ costs, workload, warmupOperations, measureOperations }).dequeuePerSec > 0;
        expect(rates.some(isAnswered)).toBe(true);
      }
    }
  });

  test('of a topic has a dequeuer for each subscriber', () => {
    const { passes } = simulationRequest(hardware, { ...whatIfDefault, subscribers: 10 }, [4]);
    expect(passes[0]![0]!.workload).toMatchObject({ enqueuers: 4, dequeuers: 40, subscribers: 10 });
  });
});

test('the steps of a slider include its current value', () => {
  expect(stepsIncluding([1, 10, 100], 24)).toEqual([1, 10, 24, 100]);
  expect(stepsIncluding([1, 10], 10)).toEqual([1, 10]);
});

test('the settings of a measured point match that point', () => {
  const settings = settingsOfPoint(measured.params);
  const machine = machineSettings(hardware);
  expect(matchesSettings(measured.params, settings, machine)).toBe(true);
  expect(matchesSettings(measured.params, { ...settings, subscribers: 3 }, machine)).toBe(false);
  // The white paper's clients are remote, so a round trip of none does not match.
  expect(matchesSettings(measured.params, { ...settings, roundTripMs: null }, machine)).toBe(false);
});

describe('simulated and measured points', () => {
  const { costs, passes } = simulationRequest(hardware, whatIfDefault, [1]);
  const job = passes[0]![0]!;
  const result = simulate({ costs, workload: job.workload, measureOperations: 4_000 });
  const at = (dequeuePerSec: number): SimulatedPoint[] => [
    { job, result: simulatedMetrics({ ...result, dequeuePerSec }) },
  ];
  const point: Point = {
    ...measured,
    system: 'sharded',
    params: { ...measured.params, threads: 1 },
    figures: { dequeuePerSec: { ...measured.figures.dequeuePerSec!, value: 1_000 } },
  };

  test('a rate that differs by more than 20 % in either direction is a miss', () => {
    expect(modelErrors(at(1_125), [point])).toMatchObject([{ misses: false, error: 0.125 }]);
    expect(modelErrors(at(1_300), [point])).toMatchObject([{ misses: true }]);
    expect(modelErrors(at(700), [point])).toMatchObject([{ misses: true }]);
  });

  test('other figures are compared by the same rule; one that was not measured has no error', () => {
    const simulatedCpu = simulatedMetrics(result).figures.cpuUsPerMessage!.value;
    const figures = {
      ...point.figures,
      cpuUsPerMessage: { ...measured.figures.dequeuePerSec!, value: simulatedCpu / 1.5 },
    };
    const [first] = modelErrors(at(1_000), [{ ...point, figures }]);
    expect(first!.others).toHaveLength(comparedFigures.length);
    expect(first!.others[0]).toBeCloseTo(0.5, 6);
    expect(first!.others.slice(1)).toEqual([null, null]);
  });

  test('points without a simulation are not compared', () => {
    const others = { ...point, params: { ...point.params, threads: 3 } };
    expect(modelErrors(at(1_000), [others])).toEqual([]);
  });

  test('are drawn as a pale line for the last position, a dotted line for simulated points, and marks for measured ones', () => {
    const shown = { simulated: at(1_100), before: at(900), measured: [point] };
    const series = whatIfSeries(shown, { metric, instances: 1 });
    expect(series.map(({ id, drawnAs }) => [id, drawnAs])).toEqual([
      ['before/sharded', 'ghost'],
      ['simulated/sharded', 'simulated'],
      ['measured/sharded', 'measured'],
    ]);
    expect(series.map(({ points }) => points[0]!.value)).toEqual([900, 1_100, 1_000]);
  });
});

test('invalid values in the address are ignored', () => {
  expect(readWhatIfSearch({ instances: -1, operations: 'x', subscribers: 1e9, without: ['tea'] })).toEqual(
    {},
  );
  for (const threads of [0, 1.5, 257, '8']) expect(readWhatIfSearch({ threads })).toEqual({});
  expect(settingsFromSearch({})).toEqual(whatIfDefault);
  const link = {
    instances: 8,
    syncUs: 5_000,
    hardware: 'exadata-x4-2',
    run: 'r',
    metric: 'latencyP99Ms',
    threads: 32,
    without: ['cores'],
  };
  expect(readWhatIfSearch(link)).toEqual(link);
  expect(settingsFromSearch(readWhatIfSearch(link))).toEqual({
    ...whatIfDefault,
    instances: 8,
    syncUs: 5_000,
  });
});
