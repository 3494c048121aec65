/** The kernel scheduler's times of a thread: Linux's /proc/thread-self/schedstat, which is "CPU ns, run-queue delay ns, runs". */
import { closeSync, openSync, readSync } from 'node:fs';
import type { ThreadClock } from './model/ports.ts';

const nsPerMs = 1e6;
/** Three numbers of at most 20 digits. */
const lineBytesMax = 64;

/**
 * Opens the clock of the calling thread, which alone may use it. Systems other than Linux report CPU time only, so runnable time
 * is 0.
 */
export function openThreadClock(): ThreadClock {
  const file = openSchedulerFile();
  if (file === undefined) return { times: cpuTimes, close: () => undefined };
  const line = Buffer.alloc(lineBytesMax);
  return {
    times({ exact = false } = {}) {
      // Asking for the time of the process brings that of its running thread up to date, which else is as of the last clock tick.
      if (exact) process.cpuUsage();
      const bytes = readSync(file, line, 0, lineBytesMax, 0);
      const [cpuNs, delayNs] = line.toString('latin1', 0, bytes).split(' ');
      return { cpuMs: Number(cpuNs) / nsPerMs, runnableMs: Number(delayNs) / nsPerMs };
    },
    close: () => closeSync(file),
  };
}

/** The open file always shows the thread that opened it, even if another thread reads it. */
function openSchedulerFile(): number | undefined {
  try {
    return openSync('/proc/thread-self/schedstat', 'r');
  } catch {
    return undefined;
  }
}

function cpuTimes() {
  const { user, system } = process.threadCpuUsage();
  return { cpuMs: (user + system) / 1_000, runnableMs: 0 };
}
