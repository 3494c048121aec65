import { expect, test } from 'vitest';
import { queueProgram } from '../src/programs/queue/queue-program.ts';
import {
  createHistogram,
  encodeHistogram,
  latencyOf,
  mergeHistograms,
  recordMs,
} from '../src/trial/latency.ts';
import { summarisePoint } from '../src/trial/point.ts';
import type { TrialOutcome } from '../src/trial/trial.ts';

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
