/**
 * CPU time that processes other than this one and its descendants used, from Linux's /proc. Kernel threads count as others,
 * and so does what a hypervisor took. The unit is the kernel's tick, in all of its files.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';

export interface CpuTicks {
  /** Ticks of all cores. */
  all: number;
  busy: number;
  /** Ticks of this process and its descendants, including ended ones. */
  own: number;
}

/** Null on other systems than Linux. About 2 ms. */
export function readCpuTicks(): CpuTicks | null {
  if (platform() !== 'linux') return null;
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => processTicks(name) ?? []);
  return { ...machineTicks(readFileSync('/proc/stat', 'utf8')), own: treeTicks(processes, process.pid) };
}

/** Share of the machine's CPU between two readings that others used, 0 to 1. */
export function shareOfOthers(before: CpuTicks, after: CpuTicks): number {
  const all = after.all - before.all;
  const others = after.busy - before.busy - (after.own - before.own);
  return all <= 0 ? 0 : Math.min(1, Math.max(0, others / all));
}

/**
 * Reads the first line of /proc/stat: user nice system idle iowait irq softirq steal; the fields after that are already counted
 * in user.
 */
export function machineTicks(stat: string): Pick<CpuTicks, 'all' | 'busy'> {
  const ticks = stat.slice(0, stat.indexOf('\n')).trim().split(/\s+/).slice(1, 9).map(Number);
  const all = ticks.reduce((sum, each) => sum + each, 0);
  return { all, busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0) };
}

export interface ProcessTicks {
  pid: number;
  parent: number;
  /** Ticks of the process and of its ended children. */
  ticks: number;
}

/** The line of /proc/<pid>/stat. The name of the command, in parentheses, may contain anything. */
export function parseProcessStat(line: string): ProcessTicks {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const at = (index: number) => Number(fields[index]);
  return { pid: Number.parseInt(line, 10), parent: at(1), ticks: at(11) + at(12) + at(13) + at(14) };
}

/** The sum over a process and all its living descendants; 0 if it is not among them. */
export function treeTicks(processes: readonly ProcessTicks[], root: number): number {
  const own = processes.find(({ pid }) => pid === root)?.ticks ?? 0;
  const children = processes.filter(({ parent }) => parent === root);
  return children.reduce((sum, { pid }) => sum + treeTicks(processes, pid), own);
}

/** Null if the process has ended. */
function processTicks(pid: string): ProcessTicks | null {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
}
