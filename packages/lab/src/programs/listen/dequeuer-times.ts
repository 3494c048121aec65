/** How the dequeuers of the program `listen` spent the measured window: CPU, runnable, waits and idle, each measured separately. */
import type { FigureInfo } from '@shardlab/contract';
import type { SessionTimes, ThreadSessionStatistics } from '@shardlab/engine';
import { accountedShare } from '../../meters/session-times.ts';
import { ratio } from '../figure-info.ts';

const ofTheirTime = 'share of the time of dequeuers';

export const timeFigureInfos: readonly FigureInfo[] = [
  ratio('timeAccounted', 'Time of dequeuers that CPU, waits, idle and runnable explain', {
    label: 'Time accounted',
    unit: ofTheirTime,
  }),
  ratio('timeAccountedLeast', 'The same of the dequeuer with the least', {
    label: 'Least time accounted',
    unit: 'share of the time of a dequeuer',
  }),
  ratio('timeOnCpu', 'Time of dequeuers on a core', { label: 'On CPU', unit: ofTheirTime }),
  ratio('timeWaiting', 'Time of dequeuers in waits that are not idle', {
    label: 'Waiting',
    unit: ofTheirTime,
  }),
  ratio('timeIdle', 'Time of dequeuers without a message', { label: 'Idle', unit: ofTheirTime }),
  ratio('timeRunnable', 'Time of dequeuers that are runnable: ready, and waiting for a core', {
    label: 'Runnable',
    unit: ofTheirTime,
  }),
  ratio('runnableShare', 'Time ready and waiting for a core', {
    label: 'Waits for a core',
    unit: 'share of the time of dequeuers that do not wait for messages',
  }),
  ratio('preemptedShare', 'Of it, after losing the core while they ran', {
    label: 'Preempted',
    unit: 'share of the time of dequeuers that do not wait for messages',
  }),
];

type Times = Omit<SessionTimes, 'unnamedMs'> & { preemptedMs: number };

const timesOf = (session: ThreadSessionStatistics): Times => ({
  elapsedMs: session.elapsedMs,
  cpuMs: session.cpuMs,
  runnableMs: session.runnableMs,
  preemptedMs: session.preemptedMs,
  waitMs: session.mutex.sleepMs + session.latch.sleepMs + session.callMs + session.commitMs,
  idleMs: session.listenMs + session.dequeueMs,
});

const combine = (a: Times, b: Times, sign: 1 | -1): Times => ({
  elapsedMs: a.elapsedMs + sign * b.elapsedMs,
  cpuMs: a.cpuMs + sign * b.cpuMs,
  runnableMs: a.runnableMs + sign * b.runnableMs,
  preemptedMs: a.preemptedMs + sign * b.preemptedMs,
  waitMs: a.waitMs + sign * b.waitMs,
  idleMs: a.idleMs + sign * b.idleMs,
});

/** `before` and `after` are of the same sessions, in the same order. */
export function dequeuerTimes(
  before: readonly ThreadSessionStatistics[],
  after: readonly ThreadSessionStatistics[],
): Record<string, number> {
  const each = after.map((session, index) => combine(timesOf(session), timesOf(before[index]!), -1));
  const all = each.reduce((sum, times) => combine(sum, times, 1));
  const busyMs = all.elapsedMs - all.idleMs;
  return {
    timeAccounted: accountedShare(all),
    timeAccountedLeast: Math.min(...each.map(accountedShare)),
    timeOnCpu: all.cpuMs / all.elapsedMs,
    timeWaiting: all.waitMs / all.elapsedMs,
    timeIdle: all.idleMs / all.elapsedMs,
    timeRunnable: all.runnableMs / all.elapsedMs,
    ...(busyMs > 0
      ? { runnableShare: all.runnableMs / busyMs, preemptedShare: all.preemptedMs / busyMs }
      : {}),
  };
}
