/** Makes sure that a process that may have hung or been stopped can do no more harm. */
import { limits } from '../api/limits.ts';
import { pause } from '../model/pause.ts';
import type { ProcessIdentity } from '../model/ports.ts';
import type { ClusterPorts } from './processes.ts';

const pollMs = 2;

/**
 * Kills the process with SIGKILL, which ends a stopped process too, and resolves with true once it is gone. Resolves with false
 * if that is impossible: the target is this process or belongs to another user, it hangs in the kernel for seconds, or its start
 * time is unknown, so that the pid might belong to another process.
 */
export async function killProcess(
  target: ProcessIdentity,
  { clock, timers, processes }: ClusterPorts,
): Promise<boolean> {
  const untilMs = clock.monotonicMs() + limits.processEndMsMax;
  while (processes.isAlive(target)) {
    if (target.pid === processes.self.pid || !processes.hasKnownStart(target)) return false;
    if (clock.monotonicMs() > untilMs || !processes.kill(target.pid)) return false;
    await pause(timers, pollMs);
  }
  return true;
}
