import { expect, test } from 'vitest';
import {
  createHistogram,
  encodeHistogram,
  latencyOf,
  mergeHistograms,
  recordMs,
} from '../src/trial/latency.ts';
import { summarisePoint } from '../src/trial/point.ts';
import type { TrialOutcome } from '../src/trial/run-trial.ts';

const combination = {
  implementation: 'sharded' as const,
  params: { instances: 2, threads: 4, roundTripMs: 0, payloadBytes: 64, operationsPerTransaction: 10 },
};

function outcome(consumed: [number, number], latencyMs: number): TrialOutcome {
  const latency = createHistogram();
  for (let index = 0; index < 100; index++) recordMs(latency, latencyMs);
  return {
    windows: [
      { ms: 1000, enqueued: 500, consumed: consumed[0], cpuUs: 400_000 },
      { ms: 2000, enqueued: 1000, consumed: consumed[1], cpuUs: 200_000 },
    ],
    waits: [
      { event: 'log file sync', class: 'commit', emulated: false, waits: 5, totalMs: 10, buckets: [0, 5] },
    ],
    latency,
    dequeueCall: createHistogram(),
    integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 3 },
  };
}

test('a point is the median of its repeats, with merged latencies and summed integrity', () => {
  const point = summarisePoint(combination, [
    outcome([100, 200], 1),
    outcome([900, 1800], 2),
    outcome([300, 600], 9),
  ]);
  expect(point).toMatchObject({
    provenance: 'measured',
    enqueuePerSec: 1000,
    dequeuePerSec: 600,
    cpuUsPerMessage: 666.67,
    cpuShareByInstance: [0.4, 0.1],
    dequeuePerSecByInstance: [300, 300],
    integrity: { left: 9 },
    latencyMs: { count: 300 },
  });
  expect(point.latencyMs.p50).toBeCloseTo(2, 2);
  expect(point.latencyMs.p99).toBeCloseTo(9, 1);
  expect(point.repeats.map((repeat) => repeat.dequeuePerSec)).toEqual([200, 1800, 600]);
  expect(point.repeats.map((repeat) => repeat.dequeuePerSecByInstance)).toEqual([
    [100, 100],
    [900, 900],
    [300, 300],
  ]);
  expect(point.repeats[0]!.waitMs).toEqual({ 'log file sync': 10 });
  expect(point.waits).toMatchObject([{ event: 'log file sync', waits: 15, totalMs: 30 }]);
});

test('a round trip makes a point an emulated one, and nothing dequeued costs no CPU per message', () => {
  const params = { ...combination.params, roundTripMs: 1 };
  expect(summarisePoint({ ...combination, params }, [outcome([0, 0], 1)])).toMatchObject({
    provenance: 'emulated',
    cpuUsPerMessage: 0,
  });
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

test('a duration past the range counts as its end, a negative one as zero', () => {
  const histogram = createHistogram();
  recordMs(histogram, 1e9);
  recordMs(histogram, -5);
  expect(histogram.totalCount).toBe(2);
});
