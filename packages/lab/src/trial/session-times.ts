/** Sums and differences of what sessions spent their time on. */
import type { SessionTimes } from '@shardlab/engine';

const parts = ['elapsedMs', 'cpuMs', 'waitMs', 'idleMs', 'runnableMs', 'unnamedMs'] as const;

export function timesBetween(before: SessionTimes, after: SessionTimes): SessionTimes {
  return timesOf((part) => after[part] - before[part]);
}

/** Of several instances. */
export function addTimes(all: readonly SessionTimes[]): SessionTimes {
  return timesOf((part) => all.reduce((sum, times) => sum + times[part], 0));
}

/**
 * The share of the sessions' time that the book explains: CPU, waits, idle and runnable, each measured on its own, of the
 * time that elapsed.
 */
export function accountedShare({ elapsedMs, cpuMs, waitMs, idleMs, runnableMs }: SessionTimes): number {
  return elapsedMs === 0 ? 1 : (cpuMs + waitMs + idleMs + runnableMs) / elapsedMs;
}

const timesOf = (value: (part: (typeof parts)[number]) => number): SessionTimes =>
  Object.fromEntries(parts.map((part) => [part, value(part)])) as unknown as SessionTimes;
