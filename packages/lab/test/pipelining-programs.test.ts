/** Small real trials of the programs with pipelines. They check shape and integrity, never speed. */
import type { Params, Scenario } from '@shardlab/contract';
import { describe, expect, test } from 'vitest';
import { deviationOf, inWindow, rateSeries } from '../src/programs/pipelining/slices.ts';
import { programScenario, runPoints, whole } from './program-runs.ts';
import { measuredOnceMs } from './support.ts';

const phases = { warmupMs: 100, measureMs: measuredOnceMs, drainMs: 30_000 };
const scenario = (program: string, systems: string[], parameters: Params, sweep = {}): Scenario =>
  programScenario({ study: 'pipelining', program, systems, parameters, sweep, phases });

test('producers send at the given rate, and the rates of all participants are kept', async () => {
  const [point] = await runPoints(
    scenario('pipelining', ['remote-topic'], {
      configuration: 'prefetch',
      producers: 2,
      subscribers: 2,
      sendsPerSec: 200,
      payloadBytes: 64,
    }),
  );
  expect(point!.integrity).toMatchObject(whole);
  expect(point!.rates!.map(({ name }) => name)).toEqual(['producers', 'subscriber 1', 'subscriber 2']);
  // Producers catch up after a pause, but never send more than was due by the end of the window.
  const { perSec, sliceMs } = point!.rates![0]!;
  const sent = perSec.reduce((sum, rate) => sum + (rate * sliceMs) / 1_000, 0);
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThanOrEqual((2 * 200 * (100 + measuredOnceMs + 2_000)) / 1_000);
}, 60_000);

test('a pipeline that may hold more than the quota leaves no messages for another consumer', async () => {
  const points = await runPoints(
    scenario(
      'slow-consumer',
      ['remote-queue'],
      {
        quotaMessages: 200,
        windowMessages: 20,
        payloadBytes: 64,
        producers: 2,
        workMs: 20,
        messagesMaximum: 400,
      },
      { pipeline: ['none', 'fair', 'filled-at-once'] },
    ),
  );
  for (const { integrity, params } of points) expect(integrity, String(params.pipeline)).toMatchObject(whole);
  const [none, fair, filled] = points;
  expect(none!.figures.slowPerSec).toBeUndefined();
  expect(fair!.rates!.map(({ name }) => name)).toEqual(['producers', 'other consumer', 'slow consumer']);
  // One pipeline holds what the quota allows, the other at most what its consumer takes in 100 ms.
  expect(filled!.figures.heldMost!.value).toBeGreaterThan(fair!.figures.heldMost!.value);
  expect(filled!.figures.heldMost!.value).toBeGreaterThanOrEqual(150);
}, 60_000);

describe('slices', () => {
  test('that lie within the window count, but not those at its edges', () => {
    const counts = { startedAtMs: 1_000, messages: [1, 2, 3, 4, 5], waitedMs: [0, 0, 7, 0] };
    expect(inWindow({ counts }, { openedAtMs: 1_060, closedAtMs: 1_290 })).toEqual({
      messages: [3, 4, 5],
      waitedMs: [7, 0, 0],
    });
    expect(inWindow({ counts }, { openedAtMs: 1_060, closedAtMs: 1_350 }).messages).toEqual([3, 4, 5, 0, 0]);
  });

  test('are combined by four into rates, whose deviation is relative to their mean', () => {
    const series = rateSeries('subscriber 1', [1, 2, 3, 4, 10, 10, 10, 0, 99]);
    expect(series).toEqual({ name: 'subscriber 1', sliceMs: 200, perSec: [50, 150] });
    expect(deviationOf(series)).toBe(0.5);
    expect(deviationOf(rateSeries('nobody', [0, 0, 0, 0]))).toBeUndefined();
    expect(deviationOf(rateSeries('too short', [1]))).toBeUndefined();
  });
});
