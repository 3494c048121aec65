import { describe, expect, test } from 'vitest';
import { steadinessOf } from '../src/meters/steadiness.ts';
import type { LoadResult } from '../src/programs/load/load-job.ts';
import { steadyOf } from '../src/programs/load/step-figures.ts';

/** The window of one instance, with its counts in the first half and in total. */
const window = (half: [enqueued: number, consumed: number], whole: [number, number], ms = [500, 1_000]) => ({
  ms: ms[1]!,
  enqueued: whole[0],
  consumed: whole[1],
  firstHalf: { ms: ms[0]!, enqueued: half[0], consumed: half[1] },
});

describe('a window is steady', () => {
  test('if its halves agree', () => {
    expect(steadinessOf([window([500, 500], [1_000, 1_000])], 1)).toEqual({
      rateDrift: 0,
      backlogDrift: 0,
      isSteady: true,
    });
  });

  test('if its middle was taken late, since rates are relative to the time that passed', () => {
    expect(steadinessOf([window([600, 600], [1_000, 1_000], [600, 1_000])], 1)).toMatchObject({
      rateDrift: 0,
      isSteady: true,
    });
  });

  test('if one instance compensates for another', () => {
    const pair = [window([400, 400], [1_000, 1_000]), window([600, 600], [1_000, 1_000])];
    expect(steadinessOf(pair, 1)).toMatchObject({ rateDrift: 0, isSteady: true });
  });

  test('if each of several subscribers receives every message', () => {
    expect(steadinessOf([window([100, 300], [200, 600])], 3)).toMatchObject({
      backlogDrift: 0,
      isSteady: true,
    });
    const results = [{ window: window([50, 500], [100, 1_000]) } as unknown as LoadResult];
    expect(steadyOf(results, 10)).toMatchObject({ backlogDrift: 0, isSteady: true });
    expect(steadyOf(results)).toMatchObject({ isSteady: false });
  });
});

describe('a window is not steady', () => {
  test('if the rate still rises', () => {
    expect(steadinessOf([window([400, 400], [1_000, 1_000])], 1)).toEqual({
      rateDrift: 0.5,
      backlogDrift: 0,
      isSteady: false,
    });
  });

  test('if enqueuers slow down while dequeuers do not', () => {
    expect(steadinessOf([window([600, 500], [1_000, 1_000])], 1)).toMatchObject({
      rateDrift: -0.333,
      isSteady: false,
    });
  });

  test('if the backlog grows, or shrinks, at constant rates', () => {
    expect(steadinessOf([window([600, 500], [1_200, 1_000])], 1)).toEqual({
      rateDrift: 0,
      backlogDrift: 0.2,
      isSteady: false,
    });
    expect(steadinessOf([window([400, 500], [800, 1_000])], 1)).toMatchObject({
      backlogDrift: -0.2,
      isSteady: false,
    });
  });

  test('if nothing was dequeued, or nothing in its first half', () => {
    expect(steadinessOf([window([0, 0], [0, 0])], 1)).toEqual({
      rateDrift: 0,
      backlogDrift: 0,
      isSteady: false,
    });
    expect(steadinessOf([window([0, 0], [10, 10])], 1)).toMatchObject({ rateDrift: 1, isSteady: false });
  });
});
