/** The load that a run would put on the machine, for a user who is about to start it. */
import type { PlanLoad } from '@shardlab/contract';
import { plural } from './format.ts';

/** "up to 64 sessions in 4 processes, as fast as they can: both cores may be full". */
export function loadInWords({ sessionsMax, processesMax, isPaced, coresBusyMax, cores }: PlanLoad): string {
  const processes = processesMax === 1 ? '1 process' : `${processesMax} processes`;
  const most = `up to ${plural(sessionsMax, 'session')} in ${processes}`;
  if (isPaced) return `${most}, at a given rate, which may leave cores idle`;
  const full = coresBusyMax < cores ? `up to ${coresBusyMax} of ${cores} cores` : allOf(cores);
  return `${most}, as fast as they can: ${full} may be full`;
}

const allOf = (cores: number): string =>
  cores === 1 ? 'the core' : cores === 2 ? 'both cores' : `all ${cores} cores`;
