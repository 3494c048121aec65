/** CPU time of other processes, from /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** The unit of /proc/<pid>/stat on every Linux that Node runs on (USER_HZ = 100). */
const tickUs = 10_000;

interface ProcessStat {
  parent: number;
  /** CPU of the process and of its ended children. */
  cpuUs: number;
}

/** CPU time of processes and all their descendants, ended ones included, microseconds; null without /proc. */
export function cpuUsOfTrees(roots: readonly number[]): number | null {
  if (roots.length === 0) return 0;
  const stats = readStats();
  if (stats === null) return null;
  let sum = 0;
  const inTree = (pid: number): boolean => {
    for (let each = pid; each > 1; each = stats.get(each)?.parent ?? 0) if (roots.includes(each)) return true;
    return false;
  };
  for (const [pid, { cpuUs }] of stats) if (inTree(pid)) sum += cpuUs;
  return sum;
}

function readStats(): Map<number, ProcessStat> | null {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return null;
  }
  const stats = new Map<number, ProcessStat>();
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    try {
      stats.set(Number(name), parseStat(readFileSync(`/proc/${name}/stat`, 'utf8')));
    } catch {
      // the process has ended
    }
  }
  return stats;
}

/** Fields of proc(5): the name in parentheses may hold anything, so counting starts after the last one. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number) as [number, number, number, number];
  return { parent: Number(fields[1]), cpuUs: (utime + stime + cutime + cstime) * tickUs };
}
