/** Makes sure that a process which may have stopped for good does nothing any more. */
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../core/limits.ts';
import { isAlive, type ProcessId, startIsKnown } from '../storage/process-identity.ts';
import { monotonicMs } from './monotonic-clock.ts';

const lookMs = 2;

/**
 * Ends the process by SIGKILL, which a stopped one obeys too, and resolves once it is gone: true; false if that cannot be
 * had (it is this one, it belongs to another user, it hangs inside the system for seconds, or the system does not tell
 * when it started, so that it might be another one of the same pid).
 */
export async function endProcess(target: ProcessId): Promise<boolean> {
  const untilMs = monotonicMs() + limits.processEndMsMax;
  while (isAlive(target)) {
    if (target.pid === process.pid || !startIsKnown(target) || monotonicMs() > untilMs) return false;
    try {
      process.kill(target.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') return false;
    }
    await pause(lookMs);
  }
  return true;
}
