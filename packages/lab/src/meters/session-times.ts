/** Sums and differences of what sessions spent their time on. */
import type { SessionTimes } from '@shardlab/engine';

export function timesBetween(before: SessionTimes, after: SessionTimes): SessionTimes {
  return timesOf((part) => after[part] - before[part]);
}

/** Adds the times of several instances. */
export function addTimes(all: readonly SessionTimes[]): SessionTimes {
  return timesOf((part) => all.reduce((sum, times) => sum + times[part], 0));
}

/**
 * The share of the sessions' time that the book explains: CPU, waits, idle and runnable, each measured on its own, of the
 * time that elapsed.
 */
export function accountedShare({
  elapsedMs,
  cpuMs,
  waitMs,
  idleMs,
  runnableMs,
}: Omit<SessionTimes, 'unnamedMs'>): number {
  return elapsedMs === 0 ? 1 : (cpuMs + waitMs + idleMs + runnableMs) / elapsedMs;
}

const timesOf = (value: (part: keyof SessionTimes) => number): SessionTimes => ({
  elapsedMs: value('elapsedMs'),
  cpuMs: value('cpuMs'),
  waitMs: value('waitMs'),
  idleMs: value('idleMs'),
  runnableMs: value('runnableMs'),
  unnamedMs: value('unnamedMs'),
});
