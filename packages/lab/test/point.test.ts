import { percentileTicks } from '@shardlab/contract';
import { expect, test } from 'vitest';
import { isFaulty } from '../src/judging/judgement.ts';
import {
  createHistogram,
  encodeHistogram,
  latencyOf,
  mergeHistograms,
  recordMs,
} from '../src/meters/latency.ts';
import { queueProgram } from '../src/programs/queue/queue-program.ts';
import { summarisePoint } from '../src/run/point.ts';
import type { MeasuredRepeat, TrialOutcome } from '../src/trial/trial.ts';

const combination = { program: 'queue', system: 'sharded', params: { instances: 2, threads: 4 } };

function outcome(dequeuePerSec: number, latencyMs: number): TrialOutcome {
  const latency = createHistogram();
  for (let index = 0; index < 100; index++) recordMs(latency, latencyMs);
  return {
    figures: { dequeuePerSec, cpuUsPerMessage: 666.6666 },
    provenance: 'emulated',
    latencies: { latency },
    byInstance: { cpuShare: [0.4, dequeuePerSec / 1000] },
    waits: [
      { event: 'log file sync', class: 'commit', emulated: false, waits: 5, totalMs: 10, buckets: [0, 5] },
    ],
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 3 },
    measuredMs: 2000,
  };
}

test('counts of any size are exact, and other values have five digits', () => {
  const outcomes = [100_001, 123_456.7].map((dequeuePerSec) => ({
    ...outcome(1, 1),
    figures: { dequeuePerSec },
  }));
  expect(summarisePoint(combination, outcomes, queueProgram).figures.dequeuePerSec!.repeats).toEqual([
    100_001, 123_460,
  ]);
});

test('a point is the median of its repeats, with merged latencies and summed integrity', () => {
  const point = summarisePoint(
    combination,
    [outcome(200, 1), outcome(1800, 2), outcome(600, 9)],
    queueProgram,
  );
  expect(point).toMatchObject({
    ...combination,
    figures: {
      dequeuePerSec: {
        value: 600,
        unit: 'messages per second',
        provenance: 'emulated',
        repeats: [200, 1800, 600],
      },
      cpuUsPerMessage: { value: 666.67 },
    },
    byInstance: { cpuShare: [0.4, 0.6] },
    integrity: { left: 9 },
    latencies: { latency: { count: 300 } },
  });
  expect(Object.keys(point.figures)).toEqual(['dequeuePerSec', 'cpuUsPerMessage']);
  expect(point.latencies.latency!.p50).toBeCloseTo(2, 2);
  expect(point.latencies.latency!.p99).toBeCloseTo(9, 1);
  expect(point.repeats.map(({ byInstance }) => byInstance.cpuShare![1])).toEqual([0.2, 1.8, 0.6]);
  expect(point.repeats[0]!.waitMs).toEqual({ 'log file sync': 10 });
  expect(point.waits).toMatchObject([{ event: 'log file sync', waits: 15, totalMs: 30 }]);
});

test('a point says which of its repeats do not count, and has the latency of the steady ones', () => {
  const steady = { rateDrift: 0, backlogDrift: 0, isSteady: true };
  const quiet = { otherCpuShare: 0.01, syncRatio: 1, isDisturbed: false };
  const { latency: _, ...noLatency } = outcome(5, 1).latencies;
  const repeats: MeasuredRepeat[] = [
    { ...outcome(7, 1), latencies: noLatency, steady: { ...steady, isSteady: false }, disturbance: quiet },
    { ...outcome(5, 2), steady, disturbance: { ...quiet, isDisturbed: true }, attempts: 3 },
    { ...outcome(6, 2), steady, disturbance: quiet, attempts: 2 },
  ];
  const point = summarisePoint(combination, repeats, { figures: queueProgram.figures });
  expect(point.conditions).toEqual({ notSteady: 1, disturbed: 1, measuredAgain: 3 });
  expect(point.latencies.latency).toMatchObject({ count: 200 });
  expect(point.repeats.map(({ attempts }) => attempts)).toEqual([1, 3, 2]);
  expect(point.repeats[0]).toMatchObject({ steady: { isSteady: false }, disturbance: quiet });
  const never = summarisePoint(combination, repeats.slice(0, 1), queueProgram);
  expect(Object.keys(never.latencies)).toEqual([]);
});

test('messages that a killed trial lost are lost at its point; those that it left do not count as undrained', () => {
  const killed = {
    ...{ durability: 'durable', enqueued: 9, consumed: 4, inDoubt: 0, recovered: 3 },
    ...{ lost: 2, duplicated: 1, damaged: 0, outOfOrder: 0, left: 3 },
  };
  const point = summarisePoint(combination, [outcome(1, 1)], queueProgram, { evidence: 'not shown', killed });
  expect(point.integrity).toEqual({
    ...{ lost: 2, duplicated: 1, damaged: 0, outOfOrder: 0, left: 3 },
    durability: 'not shown',
  });
  expect(isFaulty(point)).toBe(true);
  expect(point.killed).toEqual(killed);
  const unpromised = summarisePoint(combination, [outcome(1, 1)], queueProgram, {
    evidence: 'not promised',
    killed,
  });
  expect(isFaulty(unpromised)).toBe(false);
  expect(unpromised.killed).toEqual(killed);
  expect(summarisePoint(combination, [outcome(1, 1)], queueProgram).integrity.durability).toBe('not sampled');
});

test('histograms keep microseconds through encoding and are merged by counts', () => {
  const quick = createHistogram();
  const slow = createHistogram();
  for (let index = 0; index < 99; index++) recordMs(quick, 0.015);
  recordMs(slow, 1500.5);
  const merged = latencyOf(mergeHistograms([encodeHistogram(quick), encodeHistogram(slow)]));
  expect(merged).toMatchObject({ p50: 0.015, p90: 0.015, count: 100 });
  expect(Math.abs(merged.max - 1500.5)).toBeLessThan(1500.5 / 1000);
  expect(latencyOf(createHistogram())).toEqual({ p50: 0, p90: 0, p99: 0, p999: 0, max: 0, count: 0 });
});

test('a duration past the range counts as its upper end, a negative one as zero', () => {
  const histogram = createHistogram();
  recordMs(histogram, 1e9);
  recordMs(histogram, -5);
  expect(histogram.totalCount).toBe(2);
});

test('a point keeps whole distributions, as HdrHistogram itself gives them, in a bounded size', () => {
  const latency = createHistogram();
  for (let value = 1; value <= 20_000; value++) recordMs(latency, (value * value) / 1e5);
  const made = { ...outcome(200, 1), latencies: { latency } };
  const { count, distribution } = summarisePoint(combination, [made], queueProgram).latencies.latency!;
  const own = latency
    .outputPercentileDistribution(5, 1000)
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([value, share]) => Number.isFinite(value) && Number.isFinite(share));
  const ticks = percentileTicks(count);
  for (const [value, share] of own) {
    const index = ticks.findIndex((tick) => Math.abs(tick - share!) < 1e-9);
    expect(distribution!.ticksUs[index]! / 1000, `at ${share}`).toBeCloseTo(value!, 2);
  }
  expect(own.length).toBeGreaterThan(60);
  expect(ticks).toHaveLength(distribution!.ticksUs.length);
  expect(distribution!.mean).toBeCloseTo(latency.mean / 1000, 1);
  expect(JSON.stringify(distribution).length).toBeLessThan(700);
  expect(percentileTicks(2 ** 40).length).toBeLessThan(210);
});
