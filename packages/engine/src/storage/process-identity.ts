/** Tells a process from a later one that got the same pid, on this boot of the machine or on another. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const bootIdPath = '/proc/sys/kernel/random/boot_id';

let bootId: string | undefined;

function currentBoot(): string {
  bootId ??= existsSync(bootIdPath) ? readFileSync(bootIdPath, 'utf8').trim() : '';
  return bootId;
}

/** Stands for the start of a process where the system does not tell it. */
const unknownStart = 'alive';

/**
 * Boot and start time of a process, as the system counts it, or undefined if there is none. A process is gone when the
 * last of its threads is: one that is killed inside a sync still finishes that. Without /proc, 'alive'.
 */
export function processStarted(pid: number): string | undefined {
  if (!mayBeAlive(pid)) return undefined;
  if (!existsSync('/proc/self/stat')) return unknownStart;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const dead = fields[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1;
    return dead ? undefined : `${currentBoot()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

export interface ProcessId {
  pid: number;
  /** What `processStarted` said of it. */
  started: string;
}

export function ownProcess(): ProcessId {
  return { pid: process.pid, started: processStarted(process.pid) ?? '' };
}

/** Whether `isAlive` tells this process from a later one of the same pid. */
export function startIsKnown({ started }: ProcessId): boolean {
  return started !== unknownStart;
}

/** Quick: false is certain; true may be of a later process of the same pid. */
export function mayBeAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

export function isAlive({ pid, started }: ProcessId): boolean {
  return processStarted(pid) === started;
}
