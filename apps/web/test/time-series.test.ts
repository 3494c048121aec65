import type { Tick } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { binTicks } from '../src/model/tick-bins.ts';
import {
  cpuMarks,
  latencyMarks,
  rateMarks,
  shownReference,
  waitMarks,
} from '../src/model/time-chart-data.ts';
import { sampleAt, stepTime, tickAt, timeRange, timeSamples } from '../src/model/time-series.ts';
import { recorded } from './fixtures/recorded.ts';

interface TickOptions {
  atMs: number;
  trial?: number;
  rates?: number[];
  p99?: number[];
  commitMs?: number;
  spanMs?: number;
}

function tick({
  atMs,
  trial = 0,
  rates = [100],
  p99 = [4],
  commitMs = 250,
  spanMs = 250,
}: TickOptions): Tick {
  return {
    atMs,
    trial,
    program: 'queue',
    system: 'sharded',
    params: {
      instances: rates.length,
      threads: 1,
      roundTripMs: 0,
      payloadBytes: 512,
      operationsPerTransaction: 10,
    },
    phase: 'measure',
    instances: rates.map((rate, index) => ({
      instance: index + 1,
      spanMs,
      enqueuePerSec: rate * 2,
      dequeuePerSec: rate,
      cpu: 0.5,
      latencyMs: { p50: (p99[index] ?? 4) / 2, p99: p99[index] ?? 4 },
      waitMsByClass: { commit: commitMs, idle: 10_000 },
      shards: [],
    })),
  };
}

const whole = (ticks: Tick[], binsMax = 400) => timeSamples(ticks, timeRange(ticks), binsMax);

test('rates are summed over instances, CPU is kept by instance, idle waits are excluded', () => {
  const [trial] = whole([tick({ atMs: 250, rates: [100, 50] }), tick({ atMs: 500, rates: [100, 50] })]);
  expect(trial!.samples).toHaveLength(2);
  expect(trial!.samples[0]).toMatchObject({ dequeuePerSec: 150, enqueuePerSec: 300, cpu: [0.5, 0.5] });
  expect(trial!.samples[0]!.waits).toEqual({ commit: 2, concurrency: 0, configuration: 0, network: 0 });
});

test('percentiles are never averaged: a bin shows its slowest tick and instance', () => {
  const ticks = [
    tick({ atMs: 250, rates: [1, 1], p99: [4, 90] }),
    tick({ atMs: 500, rates: [1, 1], p99: [7, 8] }),
  ];
  const [trial] = whole(ticks, 1);
  expect(trial!.samples).toHaveLength(1);
  expect(trial!.samples[0]!.latency).toEqual({ p50: 45, p99: 90, instance: 2 });
});

test('the backlog is that of the last tick of a bin: summed over the parts of a sharded queue, else the same for all', () => {
  const partition = { partition: 1, state: 'open', fill: 0.5, drained: 0 };
  const of = (partitions: (typeof partition)[], ...backlogs: number[]): Tick => {
    const given = tick({ atMs: 250, rates: backlogs });
    const instances = given.instances.map((sample, index) => ({
      ...sample,
      shards: [{ shard: 1, backlog: backlogs[index]!, partitions }],
    }));
    return { ...given, instances };
  };
  const samplesOf = (...ticks: Tick[]) => whole(ticks, 1)[0]!.samples.map(({ backlog }) => backlog);
  expect(samplesOf(of([partition], 9, 9), { ...of([partition], 3, 4), atMs: 500 })).toEqual([7]);
  expect(samplesOf(of([], 3, 4))).toEqual([4]);
  expect(samplesOf(of([], 5))).toEqual([5]);
});

test('a trial without a number of instances has one', () => {
  const { params, ...rest } = tick({ atMs: 250 });
  const [trial] = whole([{ ...rest, params: { threads: params.threads! } }]);
  expect(cpuMarks([trial!]).layers).toHaveLength(1);
});

test('a sample without deliveries has no latency', () => {
  const [trial] = whole([tick({ atMs: 250, p99: [0] })]);
  expect(trial!.samples[0]!.latency).toBeNull();
  expect(latencyMarks([trial!]).lines[0]!.points).toEqual([]);
});

test('a mean over a bin weights each tick by its duration', () => {
  const ticks = [tick({ atMs: 250, rates: [100] }), tick({ atMs: 350, rates: [450], spanMs: 100 })];
  const [trial] = whole(ticks, 1);
  expect(trial!.samples[0]!.dequeuePerSec).toBeCloseTo((100 * 250 + 450 * 100) / 350, 6);
});

test('a last tick that follows too soon joins the previous sample', () => {
  const [trial] = whole([
    tick({ atMs: 250 }),
    tick({ atMs: 500 }),
    tick({ atMs: 509, rates: [9_000], spanMs: 9 }),
  ]);
  expect(trial!.samples.map(({ atMs }) => atMs)).toEqual([250, 509]);
});

test('a tick after a gap does not cover the gap', () => {
  const [trial] = whole([tick({ atMs: 250 }), tick({ atMs: 2_250, commitMs: 500 })]);
  expect(trial!.samples.at(-1)!.waits.commit).toBe(2);
});

test('samples of two trials are kept apart', () => {
  const ticks = [tick({ atMs: 250 }), tick({ atMs: 500 }), tick({ atMs: 900, trial: 1 })];
  expect(whole(ticks).map(({ trial, samples }) => [trial, samples.length])).toEqual([
    [0, 2],
    [1, 1],
  ]);
});

test('the number of bins is limited, however long the run', () => {
  const ticks = Array.from({ length: 5_000 }, (_, index) => tick({ atMs: (index + 1) * 250 }));
  const bins = binTicks(ticks, { fromMs: 0, toMs: 5_000 * 250, binsMax: 100 })[0]!.bins;
  expect(bins.length).toBeLessThanOrEqual(102);
  expect(bins.reduce((sum, bin) => sum + bin.ticks.length, 0)).toBe(5_000);
  expect(bins.reduce((sum, bin) => sum + bin.spanMs, 0)).toBe(5_000 * 250);
});

test('the time range covers the whole run, or the selected ticks', () => {
  const ticks = [tick({ atMs: 250 }), tick({ atMs: 8_000, trial: 1 }), tick({ atMs: 9_000, trial: 1 })];
  expect(timeRange(ticks)).toEqual({ fromMs: 0, toMs: 9_000 });
  expect(timeRange(ticks, ({ trial }) => trial === 1)).toEqual({ fromMs: 7_750, toMs: 9_000 });
  expect(timeRange([])).toEqual({ fromMs: 0, toMs: 1_000 });
});

test('the tick at a time is the last one at or before it', () => {
  const ticks = [250, 500, 750].map((atMs) => tick({ atMs }));
  expect([0, 250, 499, 500, 9_999].map((atMs) => tickAt(ticks, atMs)!.atMs)).toEqual([
    250, 250, 250, 500, 750,
  ]);
  expect(tickAt([], 5)).toBeNull();
});

test('steps go from sample to sample and stop at the ends', () => {
  const trials = whole([250, 500, 750].map((atMs) => tick({ atMs })));
  expect(stepTime(trials, null, 1)).toBe(250);
  expect(stepTime(trials, null, -1)).toBe(750);
  expect(stepTime(trials, 480, 1)).toBe(750);
  expect(stepTime(trials, 750, 10)).toBe(750);
  expect(stepTime(trials, 750, Number.NEGATIVE_INFINITY)).toBe(250);
  expect(stepTime([], null, 1)).toBeNull();
  expect(sampleAt(trials, 610)!.sample.atMs).toBe(500);
});

test('stacked layers adjoin and end at their sum', () => {
  const trials = whole(recorded.ticks);
  const { layers } = waitMarks(trials);
  for (const { trial, samples } of trials) {
    const trialLayers = layers.filter((layer) => layer.id.startsWith(`${trial}/`));
    samples.forEach((sample, index) => {
      for (const [part, layer] of trialLayers.entries())
        expect(layer.points[index]!.low).toBe(part === 0 ? 0 : trialLayers[part - 1]!.points[index]!.high);
      const { commit, concurrency, configuration, network } = sample.waits;
      const onCpu = sample.cpu.reduce((sum, cores) => sum + cores, 0);
      expect(trialLayers.at(-1)!.points[index]!.high).toBeCloseTo(
        onCpu + commit + concurrency + configuration + network,
        9,
      );
    });
  }
});

test('marks have the least and the greatest value', () => {
  const trials = whole([tick({ atMs: 250, rates: [100] }), tick({ atMs: 500, rates: [0] })]);
  expect(rateMarks(trials)).toMatchObject({ max: 200, minPositive: 100 });
  expect(cpuMarks(trials)).toMatchObject({ max: 0.5 });
});

test('a line for the number of cores far above the values is not drawn, and not in the legend', () => {
  expect([1, 2, 2.5].map((cores) => shownReference(cores, { max: 0.5 }))).toEqual([1, 2, null]);
  expect(shownReference(null, { max: 0.5 })).toBeNull();
});
