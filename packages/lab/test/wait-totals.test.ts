import { expect, test } from 'vitest';
import { summariseWaits } from '../src/meters/wait-totals.ts';

const stats = (buckets: number[]) => ({
  event: 'log file sync',
  class: 'commit' as const,
  emulated: false,
  waits: 10,
  totalMs: 5,
  buckets,
});

test('durations of a wait event are merged from fine buckets into powers of two of microseconds', () => {
  const buckets = Array.from({ length: 112 }, () => 0);
  buckets[0] = 1; // up to 1 µs
  buckets[1] = 2; // over 1 µs
  buckets[4] = 3; // up to 2 µs
  buckets[5] = 4; // over 2 µs
  expect(summariseWaits([stats(buckets)])[0]!.histogram).toEqual([1, 5, 4]);
});

test('an event whose durations are not kept has no histogram', () => {
  expect(summariseWaits([stats([0, 0])])[0]).not.toHaveProperty('histogram');
});
