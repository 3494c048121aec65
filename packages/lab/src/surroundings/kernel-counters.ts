/**
 * The kernel's counters of processes, read from outside in Linux's /proc: a system under test cannot write these numbers, so they
 * verify its own.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';

/** Since the processes started. */
export interface KernelCounters {
  atMs: number;
  /** Bytes passed to the kernel by writes, to files as well as to sockets and pipes. */
  writtenBytes: number;
  /** Bytes of pages that they changed and that are to be written to a disk: a page counts again when it is changed after it was written. */
  diskBytes: number;
  /** Number of voluntary context switches of living threads, for example to wait for a sync. */
  blocks: number;
  cpuUs: number;
}

/** Linux counts in ticks of this length, whatever the kernel's own is. */
const usPerTick = 10_000;

/** Null if the platform has no counters, or if one of the processes has ended. `atMs` is a time of the caller's clock. */
export function readKernelCounters(pids: readonly number[], atMs: number): KernelCounters | null {
  if (platform() !== 'linux' || pids.length === 0) return null;
  try {
    const each = pids.map(countersOf);
    const sum = (of: (counters: (typeof each)[number]) => number) =>
      each.reduce((total, counters) => total + of(counters), 0);
    return {
      atMs,
      writtenBytes: sum(({ writtenBytes }) => writtenBytes),
      diskBytes: sum(({ diskBytes }) => diskBytes),
      blocks: sum(({ blocks }) => blocks),
      cpuUs: sum(({ cpuUs }) => cpuUs),
    };
  } catch {
    return null;
  }
}

/** Per second, between two readings of the same processes. */
export function kernelFigures(before: KernelCounters | null, after: KernelCounters | null) {
  if (before === null || after === null || after.atMs <= before.atMs) return {};
  const perSec = (of: (counters: KernelCounters) => number) =>
    ((of(after) - of(before)) * 1000) / (after.atMs - before.atMs);
  return {
    writtenBytesPerSec: perSec(({ writtenBytes }) => writtenBytes),
    blocksPerSec: perSec(({ blocks }) => blocks),
    kernelCores: perSec(({ cpuUs }) => cpuUs) / 1e6,
  };
}

function countersOf(pid: number): Omit<KernelCounters, 'atMs'> {
  const threads = readdirSync(`/proc/${pid}/task`);
  return {
    writtenBytes: valueAt(`/proc/${pid}/io`, 'wchar'),
    diskBytes: valueAt(`/proc/${pid}/io`, 'write_bytes'),
    blocks: threads.reduce((sum, thread) => sum + blocksOf(`/proc/${pid}/task/${thread}/status`), 0),
    cpuUs: ticksOf(readFileSync(`/proc/${pid}/stat`, 'utf8')) * usPerTick,
  };
}

/** A thread that has ended is no longer counted. */
function blocksOf(file: string): number {
  try {
    return valueAt(file, 'voluntary_ctxt_switches');
  } catch {
    return 0;
  }
}

/** Reads a value from a file of lines such as "wchar: 123". Throws a RangeError if the name is missing. */
function valueAt(file: string, name: string): number {
  const line = readFileSync(file, 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`));
  if (line === undefined) throw new RangeError(`${file} has no ${name}`);
  return Number(line.slice(name.length + 1));
}

/** User and system time. The name of the command, in parentheses, may contain anything. */
function ticksOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
