/** The processes of this machine: tells one from a later one that got the same pid, on this boot or on another. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { ProcessIdentity, ProcessTable } from './model/ports.ts';

const bootIdPath = '/proc/sys/kernel/random/boot_id';

let bootId: string | undefined;

function currentBootId(): string {
  bootId ??= existsSync(bootIdPath) ? readFileSync(bootIdPath, 'utf8').trim() : '';
  return bootId;
}

/** The start of a process where the system does not tell it. */
const unknownStart = 'alive';

/**
 * Boot id and start time of a process, or undefined if it does not exist; 'alive' on a system without /proc. A process
 * exists until its last thread has ended: one that is killed inside a sync still finishes the sync.
 */
export function readProcessStart(pid: number): string | undefined {
  if (!mayBeAlive(pid)) return undefined;
  if (!existsSync('/proc/self/stat')) return unknownStart;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const dead = fields[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1;
    return dead ? undefined : `${currentBootId()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

let self: ProcessIdentity | undefined;

export const nodeProcesses: ProcessTable = {
  get self() {
    self ??= { pid: process.pid, started: readProcessStart(process.pid) ?? '' };
    return self;
  },
  isAlive: ({ pid, started }: ProcessIdentity) => readProcessStart(pid) === started,
  mayBeAlive,
  hasKnownStart: ({ started }: ProcessIdentity) => started !== unknownStart,
};

function mayBeAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
