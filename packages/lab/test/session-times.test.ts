import { expect, test } from 'vitest';
import { accountedShare, addTimes, timesBetween } from '../src/meters/session-times.ts';

const times = (elapsedMs: number, cpuMs: number, waitMs: number, unnamedMs = 0) => ({
  elapsedMs,
  cpuMs,
  waitMs,
  idleMs: 1,
  runnableMs: 2,
  unnamedMs,
});

test('the accounted time is the share of the elapsed time in named states', () => {
  expect(accountedShare(times(100, 30, 47, 20))).toBeCloseTo(0.8);
  expect(accountedShare({ ...times(0, 0, 0), idleMs: 0, runnableMs: 0 })).toBe(1);
});

test('each part of the time is subtracted for an interval and added over instances', () => {
  const interval = timesBetween(times(100, 30, 40, 5), times(180, 50, 90, 15));
  expect(interval).toEqual({
    elapsedMs: 80,
    cpuMs: 20,
    waitMs: 50,
    idleMs: 0,
    runnableMs: 0,
    unnamedMs: 10,
  });
  expect(addTimes([interval, interval])).toMatchObject({ elapsedMs: 160, cpuMs: 40, unnamedMs: 20 });
});
