/** Figures of a trial about time: CPU of which process and thread, and on what the sessions spent theirs. */
import {
  commitWriteMs,
  logFileSync,
  type WaitStats,
  writeLock,
  writeLockElsewhereMs,
} from '@shardlab/engine';
import type { Counts } from '../../../meters/counts.ts';
import { accountedShare, addTimes } from '../../../meters/session-times.ts';
import type { WindowResult, WorkerResult } from './protocol.ts';
import type { ProcessWindow } from './trial-cluster.ts';

/**
 * CPU per delivered message. Embedded sessions run in the process of their instance, so the generator's share is its cost on an
 * instance that does nothing; remote sessions and their generator have processes of their own.
 */
export function cpuFigures(
  results: readonly WorkerResult[],
  served: readonly ProcessWindow[] | null,
): Record<string, number> {
  const sum = (of: (result: WorkerResult) => number) =>
    results.reduce((total, result) => total + of(result), 0);
  const consumed = sum(({ window }) => window.consumed);
  if (consumed === 0) return { cpuUsPerMessage: 0 };
  const processUs = sum(({ window }) => window.cpuUs);
  const measured = results.every(({ generator }) => generator !== null);
  const generatorUs = sum(({ window, generator }) =>
    generator === null ? 0 : window.enqueued * generator.inUs + window.consumed * generator.outUs,
  );
  const generator = measured ? { generatorCpuUsPerMessage: generatorUs / consumed } : {};
  if (served !== null) {
    const servedUs = served.reduce((total, { cpuUs }) => total + cpuUs, 0);
    return {
      cpuUsPerMessage: servedUs / consumed,
      cpuUsPerMessageWithoutGenerator: servedUs / consumed,
      clientCpuUsPerMessage: processUs / consumed,
      ...generator,
    };
  }
  return {
    cpuUsPerMessage: processUs / consumed,
    ...(measured ? { cpuUsPerMessageWithoutGenerator: Math.max(0, processUs - generatorUs) / consumed } : {}),
    ...generator,
    sessionCpuUsPerMessage: sum(({ window }) => window.threadCpuUs) / consumed,
    writerCpuUsPerMessage: sum(({ window }) => window.writerCpuUs) / consumed,
  };
}

/**
 * The sessions' waits for log file sync, as a multiple of the writers' times for the same commits. A wait lasts at least as long
 * as its write, and at most as long as that plus the writes of the groups before it; a value outside means that one of the two
 * measurements is wrong.
 */
export function syncFigures(waits: readonly WaitStats[], counters: Counts): Record<string, number> {
  const written = counters[commitWriteMs.name] ?? 0;
  if (written === 0) return {};
  const waited = waits.find(({ event }) => event === logFileSync.name)?.totalMs ?? 0;
  return { syncWaitOfWrite: waited / written };
}

/** Of the time in which sessions waited for the write lock: how much of it another process had the lock. */
export function lockFigures(waits: readonly WaitStats[], counters: Counts): Record<string, number> {
  const waitedMs = waits.find(({ event }) => event === writeLock.name)?.totalMs ?? 0;
  if (waitedMs === 0) return {};
  return { writeLockElsewhere: (counters[writeLockElsewhereMs.name] ?? 0) / waitedMs };
}

/** How the sessions of all instances spent their time, as shares of it. */
export function timeFigures(
  windows: readonly Pick<WindowResult, 'times' | 'threadCpuUs'>[],
): Record<string, number> {
  const times = addTimes(windows.map((window) => window.times));
  if (times.elapsedMs === 0) return {};
  const threadCpuMs = windows.reduce((sum, { threadCpuUs }) => sum + threadCpuUs, 0) / 1000;
  return {
    timeAccounted: accountedShare(times),
    timeOnCpu: times.cpuMs / times.elapsedMs,
    timeWaiting: times.waitMs / times.elapsedMs,
    timeIdle: times.idleMs / times.elapsedMs,
    timeRunnable: times.runnableMs / times.elapsedMs,
    sessionCpuOfThread: threadCpuMs === 0 ? 0 : times.cpuMs / threadCpuMs,
  };
}
