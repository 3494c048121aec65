/** Makes sessions as fast as a pretence says, and has them wait for what it names. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Session,
  type SessionTime,
  type WaitEvent,
  type WaitRecorder,
  waitEvents,
  writeLock,
  writeLockElsewhereMs,
} from '@shardlab/engine';
import type { Clock } from '../../meters/clock.ts';
import { threadCpuUs } from '../../meters/thread-cpu.ts';
import type { Pretence } from '../pretence.ts';

/** Timers are not more exact: shorter waits are left out. */
const waitMsMin = 1;

export async function waitFor(time: SessionTime, event: WaitEvent, ms: number): Promise<void> {
  time.begin(event);
  await pause(ms);
  time.end();
}

/** Returns a function that wraps the sessions of one process. `waits`: those of the process's instance. */
export function pretendingSessions(
  pretence: Pretence,
  clock: Clock,
  waits: Pick<WaitRecorder, 'add'>,
): (session: Session) => Session {
  const { cpuUsPerMessage, callMs } = pretence;
  const enqueueDelayMs = limiter(pretence.enqueuePerSec, pretence, clock);
  const dequeueDelayMs = limiter(pretence.dequeuePerSec, pretence, clock);
  const delays = pretence.delays.map(([name, share]) => ({ event: eventOf(name), share, waitedMs: 0 }));

  /** Waits as the event whose part of the time so far is furthest below its share. */
  async function delay(time: SessionTime, ms: number): Promise<void> {
    if (ms < waitMsMin) return;
    const due = delays.reduce((a, b) => (b.waitedMs / b.share < a.waitedMs / a.share ? b : a));
    due.waitedMs += ms;
    await waitFor(time, due.event, ms);
    if (due.event === writeLock) waits.add(writeLockElsewhereMs, ms * pretence.writeLockElsewhere);
  }

  function burn(time: SessionTime, us: number): void {
    time.resume();
    const untilUs = threadCpuUs() + us;
    while (threadCpuUs() < untilUs);
  }

  return (session) => {
    const time = session.time!;
    let enqueued = 0;
    let dequeued = 0;
    const pretending: Partial<Session> = {
      time,
      enqueue: (queue, message) => {
        enqueued += 1;
        return session.enqueue(queue, message);
      },
      dequeue: async (queue, options) => {
        await delay(time, callMs);
        const messages = await time.suspend(session.dequeue(queue, options));
        dequeued += messages.length;
        return messages;
      },
      commit: async () => {
        await delay(time, Math.max(enqueueDelayMs(enqueued), dequeueDelayMs(dequeued)));
        if (dequeued > 0) burn(time, dequeued * cpuUsPerMessage);
        enqueued = 0;
        dequeued = 0;
        return time.suspend(session.commit());
      },
      rollback: () => {
        enqueued = 0;
        dequeued = 0;
        return session.rollback();
      },
      close: () => session.close(),
    };
    return pretending as Session;
  };
}

/**
 * Makes a limiter. It returns for how many milliseconds messages must wait, and counts them, so that the next ones wait longer. Larger
 * transactions than those of the load, which fill a backlog before it, count as one of them.
 */
function limiter(
  perSec: number,
  { operations }: Pick<Pretence, 'operations'>,
  clock: Clock,
): (messages: number) => number {
  let freeAtMs = 0;
  return (messages) => {
    if (messages === 0) return 0;
    const passAtMs = Math.max(freeAtMs, clock());
    freeAtMs = passAtMs + (Math.min(messages, operations) * 1000) / perSec;
    return passAtMs - clock();
  };
}

function eventOf(name: string): WaitEvent {
  const event = waitEvents().find((each) => each.name === name);
  if (event === undefined) throw new RangeError(`no wait event "${name}" is registered`);
  return event;
}
