/**
 * The processes of this machine: distinguishes a process from a later one with the same pid, on this boot or another, and starts
 * child processes.
 */

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Pid } from './model/ids.ts';
import type {
  ChildProcess,
  ChildProcessEvents,
  ProcessIdentity,
  ProcessStarter,
  ProcessTable,
} from './model/ports.ts';

const bootIdPath = '/proc/sys/kernel/random/boot_id';

let bootId: string | undefined;

function currentBootId(): string {
  bootId ??= existsSync(bootIdPath) ? readFileSync(bootIdPath, 'utf8').trim() : '';
  return bootId;
}

/** Stands for the start time of a process if the system does not report it. */
const unknownStart = 'alive';

/**
 * Boot id and start time of a process, or undefined if it does not exist; 'alive' on a system without /proc. A process
 * exists until its last thread has ended: one that is killed inside a sync still finishes the sync.
 */
export function readProcessStart(pid: Pid): string | undefined {
  if (!mayBeAlive(pid)) return undefined;
  if (!hasProc()) return unknownStart;
  try {
    const fields = readStat(pid);
    const dead = fields[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1;
    return dead ? undefined : `${currentBootId()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

function hasProc(): boolean {
  return existsSync('/proc/self/stat');
}

/** The fields of `/proc/<pid>/stat` after the name, which may have spaces: the state, the parent and so on. */
function readStat(pid: Pid): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function isStopped(pid: Pid): boolean {
  try {
    return hasProc() ? readStat(pid)[0] === 'T' : askPs(pid).startsWith('T');
  } catch {
    return false;
  }
}

/** The state of a process on a system without /proc. Costs some milliseconds. Throws if there is no such process. */
export function askPs(pid: Pid): string {
  return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

let self: ProcessIdentity | undefined;

export const nodeProcesses: ProcessTable & ProcessStarter = {
  get self() {
    self ??= { pid: process.pid, started: readProcessStart(process.pid) ?? '' };
    return self;
  },
  isAlive: ({ pid, started }: ProcessIdentity) => readProcessStart(pid) === started,
  mayBeAlive,
  isStopped,
  hasKnownStart: ({ started }: ProcessIdentity) => started !== unknownStart,
  start: startChild,
};

/** Its standard error is that of this process. */
function startChild(module: URL, { onOutput, onEnded }: ChildProcessEvents): ChildProcess {
  const child = spawn(process.execPath, [fileURLToPath(module)], { stdio: ['pipe', 'pipe', 'inherit'] });
  // Node makes sockets of both, and has none where the process has no descriptors left.
  const [input, output] = [child.stdin, child.stdout] as (Socket | undefined)[];
  input?.on('error', () => undefined); // it has ended, which `close` reports
  output?.on('data', onOutput);
  const ended = Promise.withResolvers<string>();
  child.once('close', (exitCode, signal) => ended.resolve(signal ?? `exit code ${exitCode}`));
  child.once('error', ({ message }) => {
    if (child.pid === undefined) ended.resolve(message);
  });
  void ended.promise.then(onEnded);
  return {
    pid: child.pid,
    write: (bytes) => void (input?.writable && input.write(bytes)),
    kill: () => void child.kill('SIGKILL'),
    keepAlive: (needed) => {
      for (const part of [child, input, output]) needed ? part?.ref() : part?.unref();
    },
  };
}

function mayBeAlive(pid: Pid): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
